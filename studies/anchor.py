"""Anchor: the baseline measured again and again during the search, so that drift chooses nobody.

Values that lie minutes apart are compared by what the baseline did next to each. A trial's value
is divided by the baseline's level at its time and multiplied by the first one.

A repeat now and then is enough to suspect a drift (studies/drift.py), and as long as nothing speaks
for one the factor stays 1. Once one is suspected, the baseline is measured before each trial, until
the suspicion has passed or the machine is steady again, and the factor follows as far as the drift
is believed. How much processes differ is no reason for it: a spread that does not last to the next
process cannot be taken out of its value, and a repeat costs as much as a trial.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from studies.drift import LAST, LEAST_SPREAD, Drift
from studies.noise import Noise, Repeat

SUSPECTED = 0.25
"""Above this probability of a drift, 0..1, the next trial has a baseline next to it."""

MUCH = 0.05
"""Unless the last repeats differ by less than that."""

EVERY_SHARE = 0.12
"""On a steady machine the baseline is measured again after this share of the budget."""

EVERY_TRIALS = 8
"""And not before so many trials could have run, or a short study would measure little else."""


class Anchor:
    """Follows the baseline's level.

    Args:
        measure: Measures the baseline once more; None if it failed or no time was left.
        repeats: Those of the A/A stage, at least one.
        every_s: Between two repeats on a steady machine.
        now: Seconds since the study's start.

    Attributes:
        repeats: All repeats so far, in the order of time.
        first: The level that values are scaled to, as a logarithm; an earlier session's may be set.
    """

    def __init__(
        self,
        measure: Callable[[], Repeat | None],
        repeats: Sequence[Repeat],
        every_s: float,
        now: Callable[[], float],
    ) -> None:
        self._measure = measure
        self.repeats = list(repeats)
        self._every_s = every_s
        self._now = now
        self.first = statistics.fmean([math.log(r.value) for r in repeats])

    @property
    def noise(self) -> Noise:
        """What all repeats so far say."""
        return Noise.of(self.repeats)

    @property
    def drift(self) -> Drift:
        """Where the baseline's level is now, and whether it walks."""
        return Drift.of([r.t for r in self.repeats], [math.log(r.value) for r in self.repeats])

    def before_trial(self) -> None:
        """Measure the baseline again if it is due."""
        logs = [math.log(r.value) for r in self.repeats[-LAST:]]
        suspected = self.drift.probability > SUSPECTED and max(logs) - min(logs) > MUCH
        if self._now() - self.repeats[-1].t < (0.0 if suspected else self._every_s):
            return
        if (repeat := self._measure()) is not None:
            self.repeats.append(repeat)

    @property
    def factor(self) -> float:
        """What a value measured now is multiplied by, to be compared with those of the start."""
        drift = self.drift
        # What may be chance would only add to the noise.
        stays = _beyond(self.first - drift.mean, max(self.noise.spread, LEAST_SPREAD))
        walks = _beyond(self.first - drift.level, LEAST_SPREAD)
        return math.exp(drift.belief * walks + (1 - drift.belief) * stays)


def _beyond(off: float, spread: float) -> float:
    return 0.0 if abs(off) <= 2 * spread else off
