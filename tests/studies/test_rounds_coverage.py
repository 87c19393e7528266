"""How often the intervals of rounds that end when they are narrow hold the truth."""

import numpy as np
import pytest

from studies.arm import ENDED_WHEN_NARROW
from studies.rounds import ENOUGH_ROUNDS, NARROW

N_STUDIES = 4000
MAX_ROUNDS = 40


@pytest.mark.parametrize("spread", [0.005, 0.015, 0.03, 0.05, 0.1])
def test_they_hold_it_in_95_of_100_studies(spread):
    from scipy.special import stdtrit

    logs = np.random.default_rng(0).normal(size=(N_STUDIES, MAX_ROUNDS)) * spread
    running, held = np.ones(N_STUDIES, bool), np.zeros(N_STUDIES, bool)
    for n in range(ENOUGH_ROUNDS, MAX_ROUNDS + 1):
        mean, deviation = logs[:, :n].mean(1), logs[:, :n].std(1, ddof=1)
        half = stdtrit(n - 1, 1 - ENDED_WHEN_NARROW / 2) * deviation / np.sqrt(n)
        ends = running & ((np.exp(half) - 1 <= NARROW) | (n == MAX_ROUNDS))
        held[ends] = np.abs(mean[ends]) <= half[ends]
        running &= ~ends
    assert held.mean() >= 0.94  # 0.95 within three standard errors of 4000 studies
