"""Space: active knobs over base settings, as one thing to hand to a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
    """

    knobs: Sequence[Knob]
    base: Settings

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
        return grid(self.knobs, self.base)

    def neighbours(self, settings: Settings) -> Iterator[tuple[str, Value, Settings]]:
        """Settings that differ from `settings` in one knob: its name, the value, they."""
        return neighbours(settings, self.knobs, self.base)

    @property
    def size(self) -> int:
        """How many settings there are."""
        return size(self.knobs, self.base)
