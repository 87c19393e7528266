"""Lost: whether a running trial has lost already.

Within its window the pruner says so (studies/racing.py). Within its warm-up a trial has lost whose
steps are so much slower than the best one's that no window is needed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from studies.ledger import Ledger
from studies.racing import rates_of
from studies.samplers import allowed

HOPELESS = 4.0
"""A trial whose steps are so many times slower than the best one's does not get past warm-up."""

HOPELESS_BLOCKS = 2
"""So many blocks after the first step, which may compile, have to agree on that."""


class Lost:
    """Called after each block of a trial, with the values of its blocks so far.

    Args:
        ledger: The trials that it is compared with, and the pruner.
        sign: 1 if a larger value is better, -1 if a smaller one is.

    Attributes:
        factor: What values measured now are multiplied by (see studies/anchor.py).
    """

    def __init__(self, ledger: Ledger, sign: int) -> None:
        self._ledger = ledger
        self._sign = sign
        self.factor = 1.0

    def __call__(self, warmup: Sequence[float], window: Sequence[float]) -> bool:
        """Whether it has lost, by its warm-up's and its window's blocks."""
        if window:
            return self._ledger.has_lost(self.scaled(window))
        late = self.scaled(warmup[1:])
        if len(late) < HOPELESS_BLOCKS:
            return False
        if self._sign > 0:
            return max(late) * HOPELESS < self._best_mean()
        return min(late) > self._best_mean() * HOPELESS

    def scaled(self, values: Sequence[float]) -> list[float]:
        """Values measured now, to be compared with those of the start."""
        return [value * self.factor for value in values]

    def _best_mean(self) -> float:
        """The mean over its blocks of the best trial that breaks no limit."""
        raced = [t for t in self._ledger.trials if t.intermediate_values and allowed(t)]
        means = [statistics.fmean(rates_of(t, self._ledger.study.direction)) for t in raced]
        if self._sign > 0:
            return max(means, default=0.0)
        return min(means, default=math.inf)
