"""Imposed: the settings that hotlap puts in force on a script, and which of them.

In a script "default" means: as the script does it. So a settings file, which names every setting,
says more than is wanted; imposed are the settings that differ from PyTorch's default, and those
that the file's provenance lists as tuned (a winner may well be `num_workers: 0` where the script
itself takes 4). A file that was tuned for a script has that script's own way in it; of such a file
what was tuned is imposed, and what its provenance lists as imposed: settings that the user typed
for the study, so that the script had them in every trial, the baseline's too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hotlap.errors import FrozenFileError
from hotlap.frozen import Frozen
from hotlap.settings import NAMES, NEEDS_WORKERS, Settings


@dataclass(frozen=True)
class Imposed:
    """Settings, and the names of those that win over the script's own way.

    Attributes:
        settings: All values; only those in `names` are looked at.
        names: What is imposed.
        override: Names that win even over what a script asks for about determinism, precision
            and compilation.
    """

    settings: Settings = Settings()
    names: frozenset[str] = frozenset()
    override: frozenset[str] = frozenset()

    @classmethod
    def of(cls, values: Mapping[str, Any], override: Iterable[str] = ()) -> Imposed:
        """Impose exactly these settings.

        Raises:
            SettingsError: An unknown name or a value that the setting cannot take.
        """
        settings = Settings.from_dict(values)
        return cls(settings, _meaningful(settings, values), frozenset(override))

    @classmethod
    def of_frozen(cls, frozen: Frozen) -> Imposed:
        """Impose what a frozen file changes, over what it was found to win over.

        Raises:
            FrozenFileError: Its provenance.tuned, imposed or override is no list.
        """
        names = {*_listed(frozen, "tuned"), *_listed(frozen, "imposed")}
        if not frozen.provenance.get("script"):
            names.update(frozen.settings.changed())
        return cls(
            frozen.settings, _meaningful(frozen.settings, names), _listed(frozen, "override")
        )

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def value(self, name: str) -> Any:
        """The imposed value of `name`, or None if it is not imposed."""
        return getattr(self.settings, name) if name in self.names else None

    def over(self, own: Settings, names: Iterable[str] = NAMES) -> Settings:
        """`own` with what is imposed of `names` in its place."""
        wanted = {name: getattr(self.settings, name) for name in names if name in self.names}
        return replace(own, **wanted)

    def without(self, names: Iterable[str]) -> Imposed:
        """The same, less these names."""
        return replace(self, names=self.names.difference(names))

    def alone(self) -> Settings:
        """What is imposed over PyTorch's defaults."""
        return self.over(Settings())


def _listed(frozen: Frozen, key: str) -> frozenset[str]:
    values = frozen.provenance.get(key) or []
    if not isinstance(values, list):
        raise FrozenFileError(
            f"{frozen.path}: provenance.{key} is {values!r}; it has to be a list of settings, "
            "like [num_workers, amp]; correct it, or take the line away"
        )
    return frozenset(name for name in values if name in NAMES)


def _meaningful(settings: Settings, names: Iterable[str]) -> frozenset[str]:
    dead = NEEDS_WORKERS if "num_workers" in names and settings.num_workers == 0 else ()
    return frozenset(name for name in names if name not in dead)
