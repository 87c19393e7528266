"""What a gain that the search saw is worth, and what rounds can show of it."""

import math
import random
import statistics

import pytest

from studies import Noise
from studies.arm import log_interval, shared_error
from studies.noise import WIDE
from studies.power import SURELY, Power, expected_gain


def test_the_luckiest_of_equal_trials_is_expected_to_bring_little():
    """Fifty settings that change nothing, where processes differ by 9 %."""
    chance = random.Random(0)
    seen = [
        max(chance.gauss(0, 0.09) for _ in range(50)) - chance.gauss(0, 0.09) for _ in range(500)
    ]
    expected = [Power.of(gain, Noise(5, 0.09)).gain for gain in seen]
    assert statistics.fmean(seen) > 0.19
    assert statistics.fmean(expected) < 0.4 * statistics.fmean(seen)


def test_a_gain_far_beyond_the_noise_is_expected_as_it_was_seen():
    assert Power.of(0.4, Noise(5, 0.01)).gain == pytest.approx(0.4, rel=0.01)
    assert expected_gain(0.4, 0.0) == 0.4
    assert expected_gain(-0.4, 0.0) == expected_gain(0.0, 0.0) == 0.0


def test_where_the_noise_is_not_known_much_is_assumed():
    assert Power.of(0.3, Noise(1)) == Power.of(0.3, Noise(1, WIDE))
    assert Power.of(0.3, Noise(1)).noise.spread == WIDE


def test_more_arms_need_more_rounds_to_show_the_same():
    power = Power(0.15, Noise(5, 0.09))
    alone, three = power.rounds_for(40), power.rounds_for(40, 3)
    assert alone is not None and three is not None and alone < three
    assert power.shows(alone, 1) and not power.shows(alone, 3)
    assert power.rounds_for(alone - 1) is None
    assert not Power(0.0, Noise(5, 0.09)).shows(40, 1)


@pytest.mark.parametrize("n_rounds", [4, 10])
def test_what_is_surely_shown_is_shown_in_nearly_all_studies(n_rounds):
    noise, chance = Noise(5, 0.1), random.Random(0)
    gain = 1.01 * SURELY * math.log1p(noise.smallest_effect(n_rounds, 2))
    assert Power(gain, noise).surely_shows(n_rounds, 2)
    assert not Power(0.98 * gain, noise).surely_shows(n_rounds, 2)

    def shown():
        logs = [chance.gauss(gain, 0.1 * math.sqrt(2)) for _ in range(n_rounds)]
        return log_interval([math.exp(x) for x in logs], shared_error(2)).low > 1

    assert sum(shown() for _ in range(400)) / 400 > 0.95
