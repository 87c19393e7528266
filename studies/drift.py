"""Drift: does the machine's level last from one process to the next, or is each one for itself?

Repeats of the baseline differ. Where every process has a level of its own, a repeat tells nothing
of its neighbours, and to divide a trial by it only adds its noise. Where the machine itself changes
(a neighbour, a warm chip), what lies close together in time agrees.

So two models are compared, both with a spread from process to process: one level, or a level that
walks at random from repeat to repeat (the local level model: Harvey, "Forecasting, structural time
series models and the Kalman filter", 1989). How many times likelier the repeats are by the second,
on average over how far it may walk, says how much it is to be believed (Kass and Raftery, "Bayes
factors", 1995); where it is now is what it expects of the last repeat's time.

Only the last repeats count: a machine that has changed once and then stayed is steady again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LAST = 8
"""So many repeats are looked at."""

LEAST_REPEATS = 4
"""Three repeats come in order by chance once in three times: no drift is taken from fewer than so
many, or a quiet machine's study would measure its baseline every second trial."""

LEAST_SPREAD = 0.01
"""Repeats that agree by chance do not make a drift of every later one: no spread is taken to be
much smaller than that."""

MOVES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""How far the level may walk from one repeat to the next, as multiples of the spread."""


@dataclass(frozen=True)
class Drift:
    """What the last repeats say.

    Attributes:
        probability: Of a level that walks, if before any repeat it was as likely as not.
        level: Where it is now, if it walks. A logarithm, as they are.
        mean: Where it is if it stays.
    """

    probability: float
    level: float
    mean: float

    @classmethod
    def of(cls, times_s: Sequence[float], logs: Sequence[float]) -> Drift:
        """From repeats at `times_s`, in their order: the logarithms of their values."""
        t, y = np.array(times_s[-LAST:]), np.array(logs[-LAST:])
        if len(y) < LEAST_REPEATS:
            return cls(0.0, float(y.mean()), float(y.mean()))
        gap_s = max(1e-9, (t[-1] - t[0]) / (len(t) - 1))
        score, mean = _fit(t, y, 0.0)
        walks = [_fit(t, y, move**2 / gap_s) for move in MOVES]
        ratios = np.exp([of_walk - score for of_walk, _ in walks])
        odds = float(ratios.mean())
        level = float(ratios @ [level for _, level in walks] / ratios.sum())
        return cls(odds / (1 + odds), level, mean)

    @property
    def belief(self) -> float:
        """How far it is believed: 0 where it is no likelier than not, 1 where it is certain."""
        return max(0.0, 2 * self.probability - 1)


def _fit(t: np.ndarray, y: np.ndarray, walk: float) -> tuple[float, float]:
    """A model's logarithmic likelihood, and the level at the last repeat that it expects.

    Start and spread are unknown and integrated out.

    Args:
        t: Seconds, shape (n,).
        y: Logarithms, shape (n,).
        walk: Variance of the level's steps in a second, as a multiple of the spread's square.
    """
    walked = walk * (t - t[0])
    covariance = np.eye(len(y)) + np.minimum.outer(walked, walked)
    inverse = np.linalg.inv(covariance)
    weights = inverse.sum(axis=0)
    off = y - weights @ y / weights.sum()
    misfit = off @ inverse @ off + LEAST_SPREAD**2
    likelihood = -(
        np.linalg.slogdet(covariance)[1] + np.log(weights.sum()) + (len(y) - 1) * np.log(misfit)
    )
    level = y[0] - off[0] + walked @ inverse @ off
    return float(likelihood / 2), float(level)
