"""Racing: stops a trial as soon as its interval lies on the losing side of the best one's.

A race between many candidates ends for each as soon as its bound proves that it loses (Maron and
Moore, "Hoeffding Races", 1994). Here the bounds are Student's t over a trial's blocks.

Each new block is another look, and looking often finds something by chance. So the allowed error
is spent over the looks: half of it goes to the best trial's bound, and of the other half the k-th
look gets 1 / (k (k + 1)), which adds up to one. By the union bound a trial that is as good as the
best is stopped with at most the stated probability, however long the race.

Processes that run the same differ too, which no block of one process knows of. How much is an
estimate from a few runs of the baseline, so there as well the bound is Student's, with their
degrees of freedom. Taken as known, an estimate from three runs stopped equal trials far too often.
With fewer than three runs there is none, and a wide spread is assumed (studies/noise.py).

A trial over a limit, such as the device's memory, cannot win, however fast it is: it stops nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from optuna.pruners import BasePruner
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from studies.samplers import allowed


class RacingPruner(BasePruner):
    """Prunes a trial whose rate is worse than the best trial's beyond doubt.

    Every step that a trial reports is the rate of one block, or its time where less is better, and
    blocks count alike. A mean over all blocks so far, or a loss that falls, would not do: steps of
    such hang together, and their spread tells nothing of the noise.

    Args:
        error: The probability with which a trial as good as the best is stopped, 0..1.
        min_blocks: A trial with fewer blocks is never stopped, and is nobody's rival.
        process_noise: Relative standard deviation between processes that run the same (from an A/A
            run): blocks of one process know nothing of it. 0.02 means 2 %. It may be set later.
        noise_degrees: Degrees of freedom that it was estimated with; infinite where it is known.
            They may be set later.

    Raises:
        ValueError: An argument lies outside of its range.
    """

    def __init__(
        self,
        error: float = 0.05,
        min_blocks: int = 2,
        process_noise: float = 0.0,
        noise_degrees: float = math.inf,
    ) -> None:
        if not 0 < error < 1:
            raise ValueError(f"error is {error}; it is a probability between 0 and 1")
        if min_blocks < 2:
            raise ValueError(f"min_blocks is {min_blocks}; one block has no interval, so 2 or more")
        if process_noise < 0:
            raise ValueError(f"process_noise is {process_noise}; it is a share from 0")
        if not noise_degrees > 0:
            raise ValueError(f"noise_degrees is {noise_degrees}; it is more than 0")
        self._error = error
        self._min_blocks = min_blocks
        self.process_noise = process_noise
        self.noise_degrees = noise_degrees

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Whether `trial` has lost already."""
        rates = list(trial.intermediate_values.values())
        rival = self._best(study)
        if rival is None or len(rates) < self._min_blocks:
            return False
        look = len(rates) - self._min_blocks + 1
        mine = self._half_width(rates, self._error / 2 / (look * (look + 1)))
        its = self._half_width(rival, self._error / 2)
        gap = _mean(rival) - _mean(rates)
        if study.direction == StudyDirection.MINIMIZE:
            gap = -gap
        return gap > mine + its

    def _best(self, study: Study) -> list[float] | None:
        """The blocks of the best complete trial that has enough of them and breaks no limit."""
        done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        raced = [
            t
            for t in done
            if t.value is not None and len(t.intermediate_values) >= self._min_blocks and allowed(t)
        ]
        if not raced:
            return None
        sign = -1 if study.direction == StudyDirection.MINIMIZE else 1
        best = max(raced, key=lambda t: sign * (t.value or 0.0))
        return rates_of(best, study.direction)

    def _half_width(self, rates: Sequence[float], error: float) -> float:
        """From the mean to the one-sided bound that is wrong with probability `error`."""
        from scipy.special import stdtrit  # scipy takes a while to import

        n, mean = len(rates), _mean(rates)
        variance = sum((rate - mean) ** 2 for rate in rates) / (n - 1)
        blocks = float(stdtrit(n - 1, 1 - error)) * math.sqrt(variance / n)
        process = self._noise_bound(error) * abs(mean)
        return math.hypot(blocks, process)

    def _noise_bound(self, error: float) -> float:
        from scipy.special import ndtri, stdtrit  # scipy takes a while to import

        known = math.isinf(self.noise_degrees)
        quantile = ndtri(1 - error) if known else stdtrit(self.noise_degrees, 1 - error)
        return float(quantile) * self.process_noise


def rates_of(trial: FrozenTrial, direction: StudyDirection) -> list[float]:
    """The rates of a complete trial's blocks, on the whole no better than the value it was given.

    What a value lacks, such as batches that the loader had made before, its blocks still have.
    """
    rates = list(trial.intermediate_values.values())
    if not sum(rates) > 0:  # no rates, or zeros, as an objective may tell of a failure
        return rates
    share = (trial.value or 0.0) / _mean(rates)
    worse = max if direction == StudyDirection.MINIMIZE else min
    return [rate * worse(1.0, share) for rate in rates]


def _mean(rates: Sequence[float]) -> float:
    return sum(rates) / len(rates)
