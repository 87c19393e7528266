"""The neutral judge: settings alone, in fresh processes, in shuffled rounds, against the default.

The judge has never seen a tuner. In each round every arm runs one block (benchmarks/rival/block.py)
in an order drawn anew, and is divided by the default's block of the same round, so that what
changes from round to round falls out. The default runs twice: `control` over `default` shows what
the judge himself gets wrong. Arms with the same settings share one block, and an arm that changes
nothing is the control.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.rival.grid import Measure
from benchmarks.rival.start import BlockFailed, changed, measure

DEFAULT, CONTROL, GRID = "default", "control", "grid's best"
RESAMPLES = 10_000

LEAST = 6
"""Of fewer rounds nothing is told: the smallest and the largest of n ratios, between which any
interval of the median lies, hold it in 1 - 2^(1 - n) of the cases, and that is 95 % from six on."""

Round = dict[str, float | None]
"""Arm -> samples per second, None where the block failed."""


@dataclass(frozen=True)
class Ratio:
    """A speedup: the median over rounds, with its 95 % interval; nan if too few rounds have it."""

    value: float
    low: float
    high: float


def arms(answers: Mapping[str, Mapping[str, Any]], best: Mapping[str, Any]) -> dict[str, Any]:
    """Arm -> settings: the default twice, each tuner's answer, the grid's best."""
    return {DEFAULT: {}, CONTROL: {}, **answers, GRID: dict(best)}


def one_round(
    loop: str,
    settings: Mapping[str, Mapping[str, Any]],
    seconds: float,
    chance: random.Random,
    rate_of: Measure = measure,
) -> Round:
    """One block of each different arm, shuffled; every arm's rate."""
    stands_for = {DEFAULT: DEFAULT}
    seen: dict[str, str] = {}
    for arm, values in settings.items():
        if arm != DEFAULT:
            stands_for[arm] = seen.setdefault(json.dumps(changed(values)), arm)
    order = sorted(set(stands_for.values()))
    chance.shuffle(order)
    rates: Round = {}
    for arm in order:
        try:
            rates[arm] = rate_of(loop, settings[arm], seconds)
        except BlockFailed as error:
            print(f"{loop} {arm}: {error}", flush=True)
            rates[arm] = None
    return {arm: rates[other] for arm, other in stands_for.items()}


def ratio(rounds: Sequence[Round], arm: str, other: str = DEFAULT, seed: int = 0) -> Ratio:
    """How many times faster `arm` is than `other` in the same round.

    The median over the rounds that have both, and the percentile bootstrap's 95 % interval of it
    (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). Nothing is known of
    an arm that failed so often that fewer than `LEAST` are left.
    """
    pairs = [(one.get(arm), one.get(other)) for one in rounds]
    found = np.array([mine / theirs for mine, theirs in pairs if mine and theirs])
    if len(found) < LEAST:
        return Ratio(float("nan"), float("nan"), float("nan"))
    drawn = np.random.default_rng(seed).choice(found, (RESAMPLES, len(found)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return Ratio(float(np.median(found)), float(low), float(high))


def n_failed(rounds: Sequence[Round], arm: str) -> int:
    """In how many rounds the arm's block gave no rate."""
    return sum(not one.get(arm) for one in rounds)
