"""Racing: stops a trial as soon as its interval lies on the losing side of the best one's.

A race between many candidates ends for each as soon as its bound proves that it loses (Maron and
Moore, "Hoeffding Races", 1994). Here the bounds are Student's t over a trial's blocks.

Each new block is another look, and looking often finds something by chance. So the allowed error
is spent over the looks: half of it goes to the best trial's bound, and of the other half the k-th
look gets 1 / (k (k + 1)), which adds up to one. By the union bound a trial that is as good as the
best is stopped with at most the stated probability, however long the race.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from optuna.pruners import BasePruner
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState


class RacingPruner(BasePruner):
    """Prunes a trial whose rate is worse than the best trial's beyond doubt.

    Every step that a trial reports is the rate of one block; blocks count alike.

    Args:
        error: The probability with which a trial as good as the best is stopped, 0..1.
        min_blocks: A trial with fewer blocks is never stopped, and is nobody's rival.
        process_noise: Relative standard deviation between processes that run the same (from an A/A
            run): blocks of one process know nothing of it. 0.02 means 2 %. It may be set later.

    Raises:
        ValueError: An argument lies outside of its range.
    """

    def __init__(
        self, error: float = 0.05, min_blocks: int = 2, process_noise: float = 0.0
    ) -> None:
        if not 0 < error < 1:
            raise ValueError(f"error is {error}; it is a probability between 0 and 1")
        if min_blocks < 2:
            raise ValueError(f"min_blocks is {min_blocks}; one block has no interval, so 2 or more")
        if process_noise < 0:
            raise ValueError(f"process_noise is {process_noise}; it is a share from 0")
        self._error = error
        self._min_blocks = min_blocks
        self.process_noise = process_noise

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
        """The blocks of the best complete trial that has enough of them."""
        done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        raced = [
            t
            for t in done
            if t.value is not None and len(t.intermediate_values) >= self._min_blocks
        ]
        if not raced:
            return None
        sign = -1 if study.direction == StudyDirection.MINIMIZE else 1
        best = max(raced, key=lambda t: sign * (t.value or 0.0))
        return list(best.intermediate_values.values())

    def _half_width(self, rates: Sequence[float], error: float) -> float:
        """From the mean to the one-sided bound that is wrong with probability `error`."""
        from scipy.special import ndtri, stdtrit  # scipy takes a while to import

        n, mean = len(rates), _mean(rates)
        variance = sum((rate - mean) ** 2 for rate in rates) / (n - 1)
        blocks = float(stdtrit(n - 1, 1 - error)) * math.sqrt(variance / n)
        process = float(ndtri(1 - error)) * self.process_noise * abs(mean)
        return math.hypot(blocks, process)


def _mean(rates: Sequence[float]) -> float:
    return sum(rates) / len(rates)
