import math
import random

import pytest

from studies.arm import shared_error
from studies.noise import Noise, Repeat


def repeats(n, spread=0.0, drift=lambda i: 1.0, seed=0, blocks=8, block=lambda rng, i: 1.0):
    rng = random.Random(seed)
    found = []
    for i in range(n):
        value = 100 * math.exp(rng.gauss(0, spread)) * drift(i)
        inside = tuple(value * block(rng, i) * (1 + rng.gauss(0, 0.005)) for _ in range(blocks))
        found.append(Repeat(20.0 * i, value, value, inside))
    return found


@pytest.mark.parametrize("spread", [0.005, 0.02, 0.1])
def test_the_spread_between_processes_is_found_however_the_machine_drifts(spread):
    for drift in (lambda i: 1.0, lambda i: 1.01**i, lambda i: 0.5 if i > 20 else 1.0):
        found = [Noise.of(repeats(40, spread, drift, seed)).spread for seed in range(20)]
        assert sum(found) / len(found) == pytest.approx(spread, rel=0.25, abs=0.004)


def test_a_drift_is_told_from_spread():
    slower = Noise.of(repeats(10, 0.005, lambda i: 0.99**i))
    assert slower.drifts and slower.drift == pytest.approx(0.99**9 - 1, abs=0.02)
    assert sum(Noise.of(repeats(10, 0.02, seed=s)).drifts for s in range(100)) <= 10


def test_two_modes_are_found_and_one_is_not_split():
    def spinning(rng, i):
        return 0.1 if i % 3 == 0 else 1.0

    low, high = Noise.of(repeats(9, 0.01, block=spinning)).modes
    assert high / low == pytest.approx(10, rel=0.1)
    for seed in range(50):
        assert not Noise.of(repeats(9, 0.05, seed=seed)).modes
        rng = random.Random(seed)
        flat = [Repeat(float(i), 100.0, 100.0, (rng.uniform(50, 150),)) for i in range(40)]
        assert not Noise.of(flat).modes


@pytest.mark.parametrize("n_compared", [1, 4])
def test_the_smallest_effect_is_what_paired_rounds_show_in_half_of_the_studies(n_compared):
    """Of effects as large as it says, about half are shown; of twice as large ones nearly all."""
    from studies.arm import log_interval

    noise, rng = Noise(5, spread=0.03), random.Random(1)
    effect = noise.smallest_effect(6, n_compared)

    def shown(true):
        ratios = [true * math.exp(rng.gauss(0, 0.03 * math.sqrt(2))) for _ in range(6)]
        return log_interval(ratios, shared_error(n_compared)).low > 1

    assert 0.3 < sum(shown(1 + effect) for _ in range(400)) / 400 < 0.7
    assert sum(shown(1 + 2 * effect) for _ in range(400)) / 400 > 0.95
    assert noise.smallest_effect(noise.rounds_for(0.05, 30)) <= 0.05
    assert Noise(5, spread=0.5).rounds_for(0.02, 30) is None


OFTEN = "in half of the studies, a smaller one less often"


def test_before_the_proof_the_sentence_says_which_change_half_of_the_studies_show():
    noise = Noise(5, 0.04)
    half = noise.smallest_effect(8)
    assert noise.outlook(8).endswith(
        f"; 8 paired rounds show a change of {100 * half:.1f} % {OFTEN}"
    )
    assert "rounds show a factor of" in Noise(5, 0.9).outlook(3)
    quiet = Noise(5, 0.01)
    assert quiet.rounds_for(0.02, 30) == 6
    assert "; 4 paired rounds show" in quiet.outlook(4)
    assert quiet.outlook(9).endswith(f"; 6 paired rounds show a change of 2.0 % {OFTEN}")
    assert "paired rounds" not in quiet.outlook(2)  # they prove nothing


def test_the_sentence_says_what_can_be_shown():
    text = Noise(5, 0.021, -0.08).sentence(5)
    assert "5 runs of the baseline differ by 2.1 % from process" in text and "8.0 % slower" in text
    assert "; 5 paired rounds show a change of" in text and text.endswith(OFTEN)
    assert "measured once only in this session" in Noise(1).sentence(5)
    assert "was not measured in this session" in Noise(0).sentence()
    assert "8 paired rounds show a change of 6.2 % in" in Noise(9, 0.01).sentence(8, effect=0.062)
    assert Noise(9, 0.0001).sentence(8).endswith(f"show a change of 0.1 % {OFTEN}")
    assert "round" not in Noise(5, 0.01).sentence()  # there were none
    assert Noise(5, 0.4).sentence(2).endswith("; two paired rounds prove nothing")
    assert Noise(5, 0.4).sentence(1).endswith("; one paired round proves nothing")
    proven = Noise(5, 0.01).sentence(2, effect=0.3, proven=True)
    assert proven.endswith(f"; 2 paired rounds show a change of 30 % {OFTEN}")
    assert "two modes, one 10.0 times" in Noise(5, 0.02, 0.0, (1.0, 10.0)).sentence()


def test_the_more_arms_are_compared_the_less_the_same_rounds_can_show():
    noise = Noise(5, 0.04)
    assert noise.smallest_effect(8, n_compared=4) > 1.25 * noise.smallest_effect(8)
    half = noise.smallest_effect(8, n_compared=4)
    assert noise.sentence(8, 4).endswith(f"rounds show a change of {100 * half:.1f} % {OFTEN}")
    assert noise.outlook(8, 4).endswith(f"rounds show a change of {100 * half:.1f} % {OFTEN}")


def test_a_machine_that_slows_down_is_slower_whatever_the_objective_counts():
    """The objective run_time's values are seconds, which grow as the rate falls."""
    timed = [Repeat(60.0 * i, 50 / 0.9**i, 100 * 0.9**i) for i in range(6)]
    noise = Noise.of(timed)
    assert noise.drift == pytest.approx(0.9**5 - 1)
    assert "became 41 % slower meanwhile" in noise.outlook(8)
