"""Known ways to compare trials wrongly: each naive one errs by more than 10 %, ours does not.

As tests/hotlap/test_traps_*.py for the window of one trial; here windows are right, and the
machine is not the same from trial to trial. Both see the same constructed machine.

| trap | test |
| --- | --- |
| the machine drifts between two trials | test_a_drift_between_two_trials |
| the best of many noisy trials | test_the_best_of_many_noisy_trials |
| each process starts at a level of its own | test_a_process_starts_at_a_level_of_its_own |
"""

import math
import statistics

import pytest
from simulated import Clock, SimulatedRunner, Watching

from hotlap.job import Job, Window
from hotlap.settings import Settings
from objectives import Throughput
from studies import Budget, Lab, Rounds, confirm

BASE = Settings()
FAST = Settings(num_workers=4)
OTHERS = [Settings(num_workers=n, prefetch_factor=p) for n in range(1, 8) for p in range(3, 10)]
SEEDS = range(40)


class Machine:
    """A simulated machine on which `FAST` is `speedup` times as fast as all else."""

    def __init__(self, folder, seed, speedup=1.0, **options):
        self.clock, self.seed = Clock(), seed

        def rate(settings):
            return 100.0 * (speedup if settings.key() == FAST.key() else 1.0)

        # Not the seed of the order within rounds: the two would be one stream.
        runner = SimulatedRunner(self.clock, rate, seed=10_000 + seed, **options)
        job = Job("simulated.workload", window=Window(max_s=4.0))
        self.lab = Lab(runner, job, folder / str(seed), Throughput(), Watching())

    def measure(self, settings):
        return self.lab.measure("search", settings, 1e6)

    def speedup(self, settings):
        """As the confirm stage says it, with its interval."""
        budget = Budget(1e6, clock=self.clock)
        rounds = Rounds(self.lab, "confirm", budget.left, 8, self.seed)
        proof = confirm(rounds, {"baseline": BASE, "trial 7": settings})
        return proof.arms[1].speedup(proof.baseline)


def wrong(naive, true):
    """Whether naive answers are typically off by more than 10 %."""
    return statistics.median(abs(one / true - 1) for one in naive) > 0.1


def test_a_drift_between_two_trials(tmp_path):
    # The machine becomes 2 % slower with each trial of 8 s; a search lies between the two.
    naive, ours = [], []
    for seed in SEEDS:
        drift = {"drift": lambda t: math.exp(-t / 400), "process_noise": 0.002}
        machine = Machine(tmp_path, seed, 1.3, **drift)
        first = machine.measure(BASE).value
        for settings in OTHERS[:10]:
            machine.measure(settings)
        naive.append(machine.measure(FAST).value / first)
        ours.append(machine.speedup(FAST))
    assert wrong(naive, 1.3)
    assert all(found.value == pytest.approx(1.3, rel=0.03) for found in ours)


def test_the_best_of_many_noisy_trials(tmp_path):
    # Nothing is faster than anything else.
    naive, ours = [], []
    for seed in SEEDS:
        machine = Machine(tmp_path, seed, process_noise=0.08)
        first = machine.measure(BASE).value
        best = max((machine.measure(settings) for settings in OTHERS), key=lambda t: t.value)
        naive.append(best.value / first)
        ours.append(machine.speedup(best.settings))
    assert statistics.median(naive) > 1.1
    assert statistics.geometric_mean([found.value for found in ours]) == pytest.approx(1, rel=0.03)
    assert sum(found.low > 1 for found in ours) <= 0.05 * len(ours)


def test_a_process_starts_at_a_level_of_its_own(tmp_path):
    # Blocks of one process agree to half a percent, and processes differ by 20.
    naive, known, ours = [], [], []
    for seed in SEEDS:
        machine = Machine(tmp_path, seed, process_noise=0.2)
        first = machine.measure(BASE).run.measurement.steady
        other = machine.measure(FAST).run.measurement.steady
        naive.append(other.value / first.value)
        known.append(first.low <= other.high and other.low <= first.high)
        ours.append(machine.speedup(FAST))
    assert wrong(naive, 1.0)
    assert sum(known) < 0.5 * len(known)  # and mostly the naive interval is sure of it
    assert sum(found.low <= 1 <= found.high for found in ours) >= 0.95 * len(ours)
