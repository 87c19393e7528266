"""A level that walks is told from processes that each have a level of their own."""

import math
import random

import pytest

from studies.drift import LAST, LEAST_REPEATS, Drift


def series(n, spread, level=lambda t: 0.0, seed=0, every_s=20.0):
    rng = random.Random(seed)
    times = [every_s * i for i in range(n)]
    return times, [level(t) + rng.gauss(0, spread) for t in times]


@pytest.mark.parametrize("spread", [0.002, 0.02, 0.1, 0.2])
def test_processes_that_each_have_a_level_of_their_own_are_no_drift(spread):
    believed = 0
    for seed in range(100):
        times, logs = series(30, spread, seed=seed)
        found = [Drift.of(times[:n], logs[:n]) for n in range(1, 31)]
        believed += sum(drift.belief > 0.5 for drift in found)
    assert believed / 3000 < 0.05


@pytest.mark.parametrize("spread", [0.01, 0.1])
@pytest.mark.parametrize(
    "level",
    [lambda t: -0.7 * (t > 100), lambda t: -t / 100, lambda t: 0.7 * math.sin(t / 40)],
    ids=["step", "slower and slower", "waves"],
)
def test_a_level_that_walks_is_believed_and_followed(spread, level):
    believed, off = [], []
    for seed in range(40):
        times, logs = series(9, spread, level, seed)
        drift = Drift.of(times, logs)
        believed.append(drift.belief > 0.5)
        off.append(abs(drift.level - level(times[-1])))
    assert sum(believed) >= 0.8 * len(believed)
    assert sorted(off)[len(off) // 2] < max(0.03, 1.2 * spread)


def test_what_has_changed_once_and_stayed_is_steady_again():
    times, logs = series(6 + LAST, 0.01, lambda t: -0.7 * (t > 100))
    assert Drift.of(times[:8], logs[:8]).belief > 0.7
    drift = Drift.of(times, logs)
    assert drift.belief < 0.2 and drift.mean == pytest.approx(-0.7, abs=0.02)


def test_of_few_repeats_no_drift_is_taken():
    for n in range(1, LEAST_REPEATS):
        drift = Drift.of([0.0, 20.0, 40.0][:n], [0.0, 0.1, 0.2][:n])
        assert drift.belief == 0.0 and drift.mean == pytest.approx(0.05 * (n - 1))


def test_repeats_that_agree_by_chance_make_no_drift_of_the_next():
    assert Drift.of([0.0, 20.0, 40.0, 100.0], [0.0, 0.0, 0.0, 0.01]).belief < 0.2
