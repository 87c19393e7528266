"""Anchor: the baseline measured again and again during the search, so that drift chooses nobody.

Values that lie minutes apart are compared by what the baseline did next to each. A trial's value
is divided by the baseline's level at its time and multiplied by the first one. The level follows
the baseline's repeats by exponential smoothing, because a repeat has a spread of its own. The
newest repeat's weight adapts: it is small while the errors' signs change, and near 1 when the
machine has changed and they do not (Trigg and Leach, "Exponential smoothing with an adaptive
response rate", 1967).

On a quiet machine a repeat now and then is enough to notice a drift, and within the spread the
factor stays 1. On a noisy one the baseline is measured before each trial.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from studies.noise import Noise, Repeat

MEMORY = 0.3
"""Weight of the newest error in the means that the adaptive weight is made of."""

LEAST_SPREAD = 0.01
"""Three repeats that agree by chance do not make a drift of every later one."""

EVERY_SHARE = 0.12
"""On a quiet machine the baseline is measured again after this share of the budget."""

EVERY_TRIALS = 8
"""And not before so many trials could have run, or a short study would measure little else."""


class Anchor:
    """Follows the baseline's level.

    Args:
        measure: Measures the baseline once more; None if it failed or no time was left.
        repeats: Those of the A/A stage, at least one.
        every_s: Between two repeats on a quiet machine.
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
        self._level = self.first
        self._error = self._size = 0.0  # smoothed errors, with their sign and without

    @property
    def noise(self) -> Noise:
        """What all repeats so far say."""
        return Noise.of(self.repeats)

    def before_trial(self) -> None:
        """Measure the baseline again if it is due."""
        every_s = 0.0 if self.noise.noisy else self._every_s
        if self._now() - self.repeats[-1].t < every_s:
            return
        repeat = self._measure()
        if repeat is None:
            return
        self.repeats.append(repeat)
        error = math.log(repeat.value) - self._level
        self._error += MEMORY * (error - self._error)
        self._size += MEMORY * (abs(error) - self._size)
        self._level += abs(self._error) / max(self._size, 1e-12) * error

    @property
    def factor(self) -> float:
        """What a value measured now is multiplied by, to be compared with those of the start."""
        off = self.first - self._level
        noise = self.noise
        if not noise.noisy and abs(off) <= 2 * max(noise.spread, LEAST_SPREAD):
            return 1.0  # it may be chance, and would only add to the noise
        return math.exp(off)
