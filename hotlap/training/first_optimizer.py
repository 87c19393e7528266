"""The optimizer that trains, of several the first one: its steps tell what the batches do not.

A script may ask its loader for nothing more and train on: it has made a list of its batches, or
took one for good. Then a unit of training is one step of this optimizer, as in a script that makes
its batches itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

MOVED_ON, MOVED_ON_S = 16, 5.0
"""After so many steps without it the script has done with what trained before: a loader that it
still could ask, and an optimizer, only after so many seconds as well. A short pass over another
loader belongs to those who take turns."""

HOLDS_ON = 256
"""After so many steps on one batch it has done with a loader whose iterator it still has: a batch
may be all that was played, and be gone through several times."""

MORE = 2
"""And after so many times the steps that it ever made before it came back to its loader."""


class FirstOptimizer:
    """The optimizer whose steps may be the units.

    Attributes:
        since: When its first step since a batch was asked for was done, in seconds of training.
    """

    def __init__(self) -> None:
        self._one: weakref.ref[Any] | None = None
        self._n_others = 0
        self._n_steps = 0
        self._most = 0
        self._n_counted = self._n_samples = 0
        self.since = 0.0

    @property
    def known(self) -> bool:
        """Whether there was a step at all."""
        return self._one is not None

    @property
    def samples(self) -> int:
        """Of a step, by what the units had while batches were asked for; 1 if that is not known."""
        return max(1, round(self._n_samples / self._n_counted)) if self._n_counted else 1

    def begin(self, optimizer: Any) -> None:
        """It is this one."""
        self._one = weakref.ref(optimizer)

    # While a loader trains

    def asked(self, n_samples: int = 0) -> None:
        """A batch is asked for; with that a unit of so many samples may be done."""
        self._n_samples += n_samples
        self._n_counted += self._n_steps
        self._most = max(self._most, self._n_steps)
        self._n_steps = 0

    def returns(self) -> None:
        """The script asks for a batch again after all."""
        self._most = max(self._most, self._n_steps)
        self._n_steps = 0

    def again(self, optimizer: Any, now: float) -> int:
        """An optimizer stepped; returns the steps of the first one since a batch was asked for."""
        first = self._first()
        if first is None:
            self.begin(optimizer)
        elif first is not optimizer:
            return 0
        self._n_steps += 1
        if self._n_steps == 1:
            self.since = now
        return self._n_steps

    def goes_alone(self, holds_on: Callable[[], bool]) -> bool:
        """Whether by now the script has done with its loader.

        Args:
            holds_on: Says whether it still has its iterator; asked only where that matters.
        """
        n = self._n_steps
        if n < MOVED_ON or n < MORE * self._most:
            return False
        return n >= HOLDS_ON or not holds_on()

    # Without a loader

    def is_it(self, optimizer: Any, long: bool) -> bool:
        """Whether it is the one that stepped; `long` if its last step was MOVED_ON_S ago."""
        first = self._first()
        self._n_steps += 1
        self._n_others = 0 if first is optimizer else self._n_others + 1
        if first is None or (long and self._n_others >= MOVED_ON):  # a fold, or another phase
            self.begin(optimizer)
            return True
        return first is optimizer

    def _first(self) -> Any:
        return self._one() if self._one is not None else None
