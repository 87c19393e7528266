"""Values minutes apart are compared by what the baseline did next to each."""

import math
import random
import statistics

import pytest
from replay import BASE

from studies.anchor import Anchor
from studies.noise import Repeat


class Machine:
    """Its speed at a time; the baseline takes 5 s to measure and spreads by `spread`."""

    def __init__(self, speed, spread=0.01, seed=0):
        self.now, self.n = 0.0, 0
        self._speed, self._spread, self._random = speed, spread, random.Random(seed)

    def value(self, true):
        self.now += 5
        return true * self._speed(self.now) * math.exp(self._random.gauss(0, self._spread))

    def repeat(self):
        self.n += 1
        value = self.value(100)
        return Repeat(self.now, value, value, (value,) * 4)

    def anchor(self):
        return Anchor(self.repeat, [self.repeat() for _ in range(3)], 60, lambda: self.now)


def test_on_a_quiet_machine_values_are_left_alone_and_the_baseline_is_seldom_measured():
    machine = Machine(lambda t: 1.0, 0.005)
    anchor = machine.anchor()
    factors = []
    for _ in range(60):
        anchor.before_trial()
        factors.append(anchor.factor)
        machine.value(100)
    assert set(factors) == {1.0}
    assert machine.n < 12


@pytest.mark.parametrize("spread", [0.1, 0.2])
def test_a_spread_that_does_not_last_adds_no_noise_and_costs_no_trials(spread):
    """Each process has a level of its own: what the baseline did tells nothing of the next one."""

    def error(values):
        return math.sqrt(statistics.fmean(math.log(v / 120) ** 2 for v in values))

    raw, corrected, n_repeats = [], [], []
    for seed in range(20):
        machine = Machine(lambda t: 1.0, spread, seed)
        anchor = machine.anchor()
        for _ in range(60):
            anchor.before_trial()
            raw.append(machine.value(120))
            corrected.append(raw[-1] * anchor.factor)
        n_repeats.append(machine.n)
    assert error(corrected) < 1.02 * error(raw)
    assert statistics.fmean(n_repeats) < 12


WAVES = 0.4
"""Of the machine's speed."""


def test_waves_are_followed_through_a_spread_from_process_to_process():
    """Both at once: dividing takes most of the waves out, and the spread stays."""
    raw, corrected = [], []
    for seed in range(20):
        machine = Machine(lambda t: 1 + WAVES * math.sin(t / 90), 0.1, seed)
        anchor = machine.anchor()
        for _ in range(60):
            anchor.before_trial()
            raw.append(math.log(machine.value(120) / 120))
            corrected.append(raw[-1] + math.log(anchor.factor))
    assert statistics.pstdev(corrected) < 0.75 * statistics.pstdev(raw)


@pytest.mark.parametrize(
    "speed",
    [
        lambda t: 0.5 if t > 100 else 1.0,
        lambda t: 1.5 if 100 < t < 250 else 1.0,
        lambda t: math.exp(-t / 400),
        lambda t: 1 + 0.4 * math.sin(t / 90),
    ],
    ids=["step", "a neighbour for a while", "slower and slower", "waves"],
)
def test_drift_is_taken_out_of_the_values(speed):
    machine = Machine(speed)
    anchor = machine.anchor()
    raw, corrected = [], []
    for _ in range(60):
        anchor.before_trial()
        value = machine.value(120)
        raw.append(value)
        corrected.append(value * anchor.factor)

    def three_quarters(values):
        """Three in four are within that share of the truth."""
        return sorted(abs(math.log(v / 120)) for v in values)[int(0.75 * len(values))]

    assert three_quarters(raw) > 0.3
    assert three_quarters(corrected) < 0.15


def test_a_drift_does_not_choose_the_winner_of_a_search(replay, tmp_path):
    """The machine becomes twice as fast midway: without the anchor, late trials look best."""

    def best(seed, drift):
        session = replay(
            lambda s: 120.0 if s.num_workers == 2 else 100.0,
            folder=tmp_path / f"{seed}-{drift is None}",
            in_memory=True,
            drift=drift or (lambda t: 1.0),
            process_noise=0.01,
            budget_s=900,
            seed=seed,
        )
        return session.studied().proof.best_tried.settings

    def faster(t):
        return 2.0 if t > 250 else 1.0

    assert [best(s, faster).num_workers for s in range(6)].count(2) >= 5
    assert BASE.num_workers != 2
