"""Whether the interval of a speedup holds the truth, as rounds that really run make it."""

import math

import pytest
from simulated import Clock, SimulatedRunner, Watching

from hotlap.job import Job, Window
from hotlap.measurement import Block, Measurement
from hotlap.settings import Settings
from objectives import Throughput
from runners.protocol import Run
from studies import Arm, Lab, Noise, Rounds, confirm
from studies.protocols import Trial
from studies.rounds import ENOUGH_ROUNDS

BASE, OTHER = Settings(), Settings(num_workers=4)
UNKNOWN = Noise(0)


@pytest.fixture
def prove(tmp_path):
    """Proves one arm that does what the baseline does."""

    def proof(seed, max_rounds, noise=UNKNOWN, **machine):
        runner = SimulatedRunner(Clock(), lambda settings: 100.0, seed=10_000 + seed, **machine)
        job = Job("simulated.workload", window=Window(max_s=1.0))
        lab = Lab(runner, job, tmp_path / str(seed), Throughput(), Watching())
        rounds = Rounds(lab, "confirm", lambda: 1e6, max_rounds, seed, noise=noise)
        return confirm(rounds, {"baseline": BASE, "trial 7": OTHER})

    return proof


@pytest.fixture
def n_missed(prove):
    """How many intervals of as many studies miss the truth."""

    def counted(n_studies, max_rounds, **machine):
        proofs = [prove(seed, max_rounds, **machine) for seed in range(n_studies)]
        speedups = [proof.arms[1].speedup(proof.baseline) for proof in proofs]
        return sum(not one.low <= 1 <= one.high for one in speedups)

    return counted


def heavy_tailed(settings, chance):
    """Student's t with three degrees of freedom, 2 % wide."""
    return math.exp(0.02 * chance.gauss(0, 1) / math.sqrt(chance.gammavariate(1.5, 2) / 3))


def of_two_modes(settings, chance):
    """Threads that spin beside a neighbour in three processes of ten."""
    return (0.6 if chance.random() < 0.3 else 1.0) * (1 + chance.gauss(0, 0.01))


@pytest.mark.parametrize("process", [None, heavy_tailed, of_two_modes])
def test_equal_settings_are_said_to_differ_in_no_more_than_five_of_a_hundred_studies(
    n_missed, process
):
    assert n_missed(100, 8, process=process, process_noise=0.02) <= 5


def test_rounds_that_agree_by_chance_go_on_where_the_noise_says_so(prove):
    """One process of the baseline in five runs at half its speed: five rounds may have none."""

    def process(settings, chance):
        slow = settings == BASE and chance.random() < 0.2
        return (0.5 if slow else 1.0) * (1 + chance.gauss(0, 0.002))

    unknown = [prove(seed, 12, process=process) for seed in range(20)]
    early = [proof for proof in unknown if proof.n_rounds == ENOUGH_ROUNDS]
    assert early and all(proof.arms[1].speedup(proof.baseline).high < 1.1 for proof in early)
    for noise in (Noise(6, 0.3), Noise(6, 0.001, modes=(50.0, 100.0))):
        assert prove(100, 12, noise, process_noise=0.001).n_rounds == 12
    assert prove(101, 12, Noise(6, 0.01), process_noise=0.001).n_rounds == ENOUGH_ROUNDS


@pytest.mark.parametrize("n_rounds", [3, 4, 5])
def test_few_rounds_of_two_arms_hold_the_truth_on_a_machine_that_drifts(n_missed, n_rounds):
    """8 % from trial to trial; of three rounds all have one order in a quarter of the studies."""
    machine = {"process_noise": 0.01, "drift": lambda t: math.exp(-t / 60)}
    assert n_missed(150, n_rounds, **machine) <= 7


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
