"""Whether the interval of a speedup holds the truth, as rounds that really run make it."""

import math

import pytest
from simulated import Clock, SimulatedRunner, Watching

from hotlap.job import Job, Window
from hotlap.measurement import Block, Measurement
from hotlap.settings import Settings
from objectives import Throughput
from runners.protocol import Run
from studies import Arm, Lab, Rounds, confirm
from studies.protocols import Trial

BASE, OTHER = Settings(), Settings(num_workers=4)


@pytest.fixture
def speedups(tmp_path):
    """Those of one arm in many studies in which it does what the baseline does."""

    def measured(n_studies, max_rounds, **machine):
        found = []
        for seed in range(n_studies):
            runner = SimulatedRunner(Clock(), lambda settings: 100.0, seed=10_000 + seed, **machine)
            job = Job("simulated.workload", window=Window(max_s=1.0))
            lab = Lab(runner, job, tmp_path / str(seed), Throughput(), Watching())
            rounds = Rounds(lab, "confirm", lambda: 1e6, max_rounds, seed)
            proof = confirm(rounds, {"baseline": BASE, "trial 7": OTHER})
            found.append(proof.arms[1].speedup(proof.baseline))
        return found

    return measured


@pytest.mark.parametrize("n_rounds", [3, 4, 5])
def test_few_rounds_of_two_arms_hold_the_truth_on_a_machine_that_drifts(speedups, n_rounds):
    """8 % from trial to trial; of three rounds all have one order in a quarter of the studies."""
    machine = {"process_noise": 0.01, "drift": lambda t: math.exp(-t / 60)}
    found = speedups(150, n_rounds, **machine)
    assert sum(not one.low <= 1 <= one.high for one in found) < 0.05 * len(found)


@pytest.mark.parametrize("sign", [1, -1])
def test_what_a_drift_alone_has_made_of_a_ratio_lies_within_its_interval(sign):
    """Always in one order, on a machine that loses 8 % a trial and has no other noise."""

    def arm(place):
        run = Run("ok", Measurement((Block(10, 100, 1.0),)))
        trials = {}
        for r in range(3):
            at = 2 * r + place
            value = math.exp(-0.08 * sign * at)
            trials[r] = Trial(at, "confirm", BASE, run, value, ended_s=5.0 * at)
        return Arm("trial 7", BASE, trials, sign=sign)

    earlier = arm(0).speedup(arm(1))
    assert earlier.value == pytest.approx(math.exp(0.08))
    assert [earlier.low, earlier.high] == pytest.approx([1, earlier.value])
    later = arm(1).speedup(arm(0))
    assert later.value == pytest.approx(math.exp(-0.08))
    assert [later.low, later.high] == pytest.approx([later.value, 1])
