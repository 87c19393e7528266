"""What a gain that the search saw is worth, and what rounds can show of it."""

import random
import statistics

import pytest

from studies import Noise
from studies.noise import WIDE
from studies.power import Power, expected_gain


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
