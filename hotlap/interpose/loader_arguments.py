"""Arguments of a script's DataLoaders, with what is imposed in their place."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from torch.utils.data import DataLoader, IterableDataset

from hotlap.errors import SettingsError
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.inner import AsMade
from hotlap.interpose.samplers import asks_for_random
from hotlap.loading import arguments, given_settings
from hotlap.notes import Note, tell
from hotlap.settings import LOADER_SETTINGS, Settings

STREAM = (
    "its dataset is a stream (IterableDataset): each worker would give the whole stream again "
    "unless the dataset itself shares it out, so the script's own number of workers stays"
)
DEFAULTS = {"prefetch_factor": Settings.prefetch_factor}
"""Arguments whose default torch works out itself."""

THEIRS = ("dataset", "sampler", "batch_sampler", "collate_fn", "generator")
"""Arguments that only the script gives: compared by identity, never by their own `==`."""


class Arguments(NamedTuple):
    """What a constructor gets.

    Attributes:
        args, kwargs: With what is imposed.
        own: The script's, by name; empty if they are wrong ones.
        changed: What is imposed of `kwargs`, and None for what is left out.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    own: dict[str, Any]
    changed: dict[str, Any]


class LoaderArguments:
    """Puts what is imposed into the arguments of DataLoaders.

    Args:
        imposed: Settings and which of them.
        notes: Gets a note for what could not be put in force.
        as_made: The loaders on which something is imposed.

    Attributes:
        wanted: The imposed settings that are loader arguments.
    """

    def __init__(self, imposed: Imposed, notes: list[Note], as_made: AsMade) -> None:
        self.wanted = [name for name in LOADER_SETTINGS if name in imposed]
        self._imposed = imposed
        self._notes = notes
        self._as_made = as_made
        self._signature = inspect.signature(DataLoader.__init__)

    def of(
        self, loader: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stays: bool
    ) -> Arguments:
        """The arguments with which to make a loader; with `stays` nothing is imposed on it."""
        try:
            bound = self._signature.bind(loader, *args, **kwargs)
        except TypeError:  # torch's own error is the right one
            return Arguments(args, kwargs, {}, {})
        given = {name: value for name, value in bound.arguments.items() if name != "self"}
        own = self._own(given)
        plain = Arguments(args, kwargs, given, {}) if own is given else Arguments((), own, own, {})
        if not self.wanted or stays:
            return plain
        try:
            settings = Settings.from_dict(given_settings(own))  # a start method stays an argument
        except (TypeError, SettingsError):  # here as well
            return Arguments(args, kwargs, given, {})
        told: list[Note] = []
        wanted = self._imposed.over(settings, self._reached(own, told))
        new = arguments(wanted, own, told)
        changed = {name: value for name, value in new.items() if not self._same(name, value, own)}
        dropped = {name for name in own.keys() - new.keys() if not self._same(name, None, own)}
        for note in told:
            if note["setting"] in self._imposed:
                tell(self._notes, note["setting"], note["reason"])
        if not changed and not dropped:
            return plain
        kept = {name: value for name, value in own.items() if name not in dropped}
        return Arguments((), {**kept, **changed}, own, {**changed, **dict.fromkeys(dropped)})

    def made(self, loader: DataLoader[Any], its: Arguments) -> None:
        """The loader was made with them."""
        if its.changed:
            names = {*its.changed, *DEFAULTS}
            self._as_made.keep(loader, {n: its.own.get(n, self._default(n)) for n in names})

    def _own(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the script alone would have given them.

        A library that makes a loader anew (accelerate, Lightning) takes them from the attributes of
        the first one, and what was imposed on that is not the script's. Only workers make a
        difference: what nobody watches must have none.
        """
        if not given.get("num_workers"):
            return given
        imposed = self._as_made.behind(
            given, lambda first, name: self._same(name, getattr(first, name), given)
        )
        return {**given, **imposed} if imposed else given

    def _same(self, name: str, value: Any, own: dict[str, Any]) -> bool:
        """Whether an argument is what the script gave, or torch's default where it gave none."""
        before = own.get(name, self._default(name))
        if name in DEFAULTS and before is None:
            before = DEFAULTS[name]
        return before is value or (name not in THEIRS and bool(before == value))

    def _reached(self, own: dict[str, Any], notes: list[Note]) -> list[str]:
        """The imposed settings that may be put in force on a loader with these arguments."""
        names = list(self.wanted)
        if isinstance(own.get("dataset"), IterableDataset):
            if "num_workers" in names and "num_workers" not in self._imposed.override:
                names.remove("num_workers")
                tell(notes, "num_workers", STREAM)
        if "in_order" in names and not asks_for_random(own):
            # In an evaluation the order may matter, and it is what the script asked for.
            names.remove("in_order")
        return names

    def _default(self, name: str) -> Any:
        return self._signature.parameters[name].default
