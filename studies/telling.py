"""Telling: those of the best settings' changes for which the search's own trials speak.

The best settings hold whatever the search has picked up by luck, and rounds that take them apart
are dear. But the search has tried most of their changes with and without each other. So its trials
are explained by as few changes as it takes: those of all trials enter one after the other, the most
telling first, as long as one explains more than the luckiest of so many would by chance, and go
again when others explain the same (stepwise regression by the risk inflation criterion of Foster
and George, 1994: 2 ln p variances, of p changes). The answer is only an idea, as all that the
search says: it tells the ablation what to put back first (studies/ablate.py), and where nothing is
taken apart, what is proven beside the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hotlap.settings import NEEDS_WORKERS, Settings
from studies.changes import differing

LEAST_SPREAD = 0.005
"""Processes differ by so much at the least, as a logarithm; of two repeats none may be seen."""


def telling(
    best: Settings,
    baseline: Settings,
    trials: Sequence[tuple[Settings, float]],
    spread: float,
    likely: Sequence[str] = (),
) -> tuple[str, ...]:
    """Names of the best one's changes that the trials speak for, the most telling first.

    There is one at the least, if the best has any.

    Args:
        best: The settings in question.
        baseline: What the others are put back to.
        trials: Settings that were measured, `best` among them, and how much better than the
            baseline each was, as a logarithm.
        spread: By how much processes with the same settings differ, one standard deviation, as a
            logarithm.
        likely: Names of settings, the most likely to pay first: of changes that were always made
            together the first of them counts.
    """
    order = {name: i for i, name in enumerate(likely)}
    own = sorted(differing(best, baseline), key=lambda name: order.get(name, len(order)))
    if not trials:
        return tuple(own[:1])
    made = [_changes(settings, baseline, best) for settings, _ in trials]
    columns: list[object] = [*own, *{c: None for of in made for c in of if c not in own}]
    x = np.array([[column in of for column in columns] for of in made], dtype=float)
    y = np.array([gain for _, gain in trials])
    least = 2 * math.log(max(2, len(columns))) * max(spread, LEAST_SPREAD) ** 2
    gains = _explained(x, y, least)
    found = [own[i] for i, gain in gains.items() if i < len(own) and gain > 0]
    if not found:  # none stands out: the one after which trials were best
        means = [float(y[x[:, i] > 0].mean()) for i in range(len(own))]
        found = [own[i] for i in range(len(own)) if means[i] == max(means)][:1]
    if "num_workers" in own and not set(NEEDS_WORKERS).isdisjoint(found):
        found.insert(0, "num_workers")  # without them the others mean nothing
    return tuple(dict.fromkeys(found))


def _changes(settings: Settings, baseline: Settings, best: Settings) -> list[object]:
    """What a trial has changed: names, and for values that are not the best one's these as well.

    So all its values of a knob speak for it together, and each tells by how much it is another.
    """
    found: list[object] = []
    for name in differing(settings, baseline):
        value = getattr(settings, name)
        found += [name] if value == getattr(best, name) else [name, (name, value)]
    return found


def _explained(x: NDArray[np.float64], y: NDArray[np.float64], least: float) -> dict[int, float]:
    """Columns of `x` that explain `y`, the most telling first, each with its coefficient.

    Args:
        x: 1 where a trial (row) has made a change (column), else 0.
        y: The trials' gains.
        least: By so much a column has to lower the sum of squares.
    """
    taken: list[int] = []
    rest = float(y @ y)
    while len(taken) < min(x.shape):
        left = {i: _fit(x[:, [*taken, i]], y)[0] for i in range(x.shape[1]) if i not in taken}
        # The first of those that are alike but for rounding.
        i = next(i for i, squares in left.items() if squares <= min(left.values()) + least / 100)
        if rest - left[i] <= least:
            break
        taken.append(i)
        for other in taken[:-1]:
            without = [column for column in taken if column != other]
            if _fit(x[:, without], y)[0] - _fit(x[:, taken], y)[0] <= least:
                taken = without
        rest = _fit(x[:, taken], y)[0]
    return dict(zip(taken, _fit(x[:, taken], y)[1], strict=True))


def _fit(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, list[float]]:
    """The sum of squares that is left by the best fit, and the coefficients."""
    coefficients = np.linalg.lstsq(x, y, rcond=None)[0]
    residuals = y - x @ coefficients
    return float(residuals @ residuals), [float(c) for c in coefficients]
