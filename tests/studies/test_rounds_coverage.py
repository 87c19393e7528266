"""How often the intervals of rounds that end when they are narrow hold the truth, all together."""

import numpy as np
import pytest

from studies import Plan
from studies.arm import shared_error
from studies.rounds import ENOUGH_ROUNDS, NARROW

N_STUDIES = 4000


@pytest.mark.parametrize("n_compared", [1, 2, 4])
@pytest.mark.parametrize("spread", [0.005, 0.015, 0.03, 0.04, 0.05, 0.1])
def test_they_hold_it_in_95_of_100_studies(spread, n_compared):
    from scipy.special import stdtrit

    most = Plan().max_rounds
    rates = np.random.default_rng(0).normal(size=(N_STUDIES, 1 + n_compared, most))
    logs = (rates[:, 1:] - rates[:, :1]) * spread / np.sqrt(2)  # of ratios to one baseline
    running, held = np.ones(N_STUDIES, bool), np.zeros(N_STUDIES, bool)
    for n in range(ENOUGH_ROUNDS, most + 1):
        mean, deviation = logs[..., :n].mean(-1), logs[..., :n].std(-1, ddof=1)
        half = stdtrit(n - 1, 1 - shared_error(n_compared) / 2) * deviation / np.sqrt(n)
        ends = running & ((np.exp(half) - 1 <= NARROW).all(1) | (n == most))
        held[ends] = (np.abs(mean[ends]) <= half[ends]).all(1)
        running &= ~ends
    assert held.mean() >= 0.94  # 0.95 within three standard errors of 4000 studies
