"""Space: active knobs over base settings, as one thing to hand to a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hotlap.settings import Settings
from search_spaces.knob import Knob, Value
from search_spaces.suggest import (
    Suggests,
    grid,
    nearest,
    neighbours,
    params_of,
    size,
    suggest,
)


@dataclass(frozen=True)
class Space:
    """A search space whose knobs are active on this machine.

    Attributes:
        knobs: Each after the one its `when` names (see search_spaces/active.py).
        base: The values of all that is not searched.
        known: Those of its settings that can be tried, each once, where not all can: trials that
            come from a table which does not have the others. None: all can.
    """

    knobs: Sequence[Knob]
    base: Settings
    known: tuple[Settings, ...] | None = None

    def within(self, known: Iterable[Settings] | None) -> Space:
        """The space with those of its settings alone that are `known`; itself if it has no others.

        Args:
            known: Settings, in the space or not; None: whatever there is.
        """
        if known is None:
            return self
        points = ((settings.key(), self.nearest(settings)) for settings in known)
        own = {key: point for key, point in points if point.key() == key}
        return self if len(own) == self.size else replace(self, known=tuple(own.values()))

    def suggest(self, trial: Suggests) -> Settings:
        """Settings with the trial's suggestions over the base."""
        return suggest(trial, self.knobs, self.base)

    def params_of(self, settings: Settings) -> dict[str, Value]:
        """The parameters that would suggest `settings`, or a near point of the space."""
        return params_of(settings, self.knobs)

    def nearest(self, settings: Settings, /, **changes: Any) -> Settings:
        """The point nearest to `settings` with these changes: what the user left out stays."""
        return nearest(replace(settings, **changes), self.knobs, self.base)

    def grid(self) -> Iterator[Settings]:
        """All settings there are."""
        return grid(self.knobs, self.base) if self.known is None else iter(self.known)

    def neighbours(self, settings: Settings) -> Iterator[tuple[str, Value, Settings]]:
        """Settings that differ from `settings` in one knob: its name, the value, they."""
        every = neighbours(settings, self.knobs, self.base)
        return every if self.known is None else (n for n in every if n[2].key() in self._keys)

    def distance(self, settings: Settings, params: Mapping[str, Value]) -> int:
        """In how many parameters the `settings` differ from those of others."""
        own = self.params_of(settings)
        return sum(own.get(name) != params.get(name) for name in {**own, **params})

    @property
    def size(self) -> int:
        """How many settings there are."""
        return size(self.knobs, self.base) if self.known is None else len(self.known)

    @cached_property
    def _keys(self) -> set[object]:
        return {settings.key() for settings in self.known or ()}
