import pytest
from simulated import Clock, SimulatedRunner, Watching

from hotlap.job import Job, Window
from hotlap.measurement import Block, Measurement, Rate
from hotlap.settings import Settings
from objectives import Throughput
from studies import Lab
from studies.course import UNDIAGNOSED
from studies.diagnosis import Diagnosis, diagnose


class Sides:
    """A machine on which each side has a rate, or a way to fail."""

    def __init__(self, **rates):
        self._rates = rates
        self.clock = Clock()
        self.asked = []

    def run(self, job, folder, watch, timeout_s, within_s=None):
        self.asked.append(job.side)
        rate = self._rates[job.side]
        fails = rate if isinstance(rate, str) else ""
        machine = SimulatedRunner(self.clock, lambda s: 1.0 if fails else rate, lambda s: fails)
        return machine.run(job, folder, watch, timeout_s)

    def close(self):
        pass


@pytest.fixture
def diagnosed(tmp_path):
    def diagnosed(together, num_workers=2, resident=False, **rates):
        runner, seen = Sides(**rates), Watching()
        job = Job("simulated.workload", window=Window(max_s=4))
        lab = Lab(runner, job, tmp_path, Throughput(), seen)
        measurement = Measurement(
            tuple(Block(10, 20, 20 / together * x) for x in (1, 1.001, 0.999)),
            num_workers=num_workers,
            resident=resident,
        )
        found = diagnose(lab, Settings(num_workers=num_workers), measurement, 100)
        assert {trial.kind for trial in seen.trials} <= {"loader alone", "model alone"}
        return found, runner.asked

    return diagnosed


def rate(value, doubt=0.01):
    return Rate(value, value * (1 - doubt), value * (1 + doubt))


def diagnosis(together, loader, compute, **more):
    return Diagnosis(rate(together), rate(loader), rate(compute), **more)


def test_a_slow_loader_is_said_with_what_the_model_could_take():
    found = diagnosis(9.0, 9.1, 21)
    assert found.binding == "data"
    assert found.sentence == (
        "data-bound: the loader delivers 9.1 of the 21 samples/s that the model could take "
        "(57 % of the time the model waits)"
    )


def test_a_slow_model_is_said_with_what_the_loader_could_deliver():
    found = diagnosis(8.15, 31, 8.2)
    assert found.binding == "compute"
    assert found.sentence == (
        "compute-bound: the model takes 8.2 samples/s, the loader could deliver 31"
    )


def test_sides_that_compete_for_the_cores_are_told_from_a_slow_one():
    found = diagnosis(6.3, 12, 11, num_workers=2, n_cores=2)
    assert found.binding == "neither"
    assert found.sentence == (
        "neither side binds: loader 12 and model 11 samples/s alone, 6.3 together; they compete "
        "for the same 2 cores"
    )


def test_a_model_on_a_device_of_its_own_does_not_compete_for_the_cores():
    found = diagnosis(6.3, 12, 11, num_workers=2, n_cores=2, shares_cores=False)
    assert found.binding == "neither"
    assert found.sentence.endswith(
        "workers may take the 2 cores from the process that feeds the device"
    )


def test_without_workers_the_sides_take_turns():
    # One process: 1 / (1/12 + 1/11) = 5.7.
    found = diagnosis(5.7, 12, 11, num_workers=0)
    assert found.binding == "neither"
    assert found.sentence.endswith("without workers they take turns")


def test_sides_within_each_others_doubt_are_balanced():
    found = Diagnosis(rate(9.6), rate(10, 0.05), rate(10.3, 0.05))
    assert found.binding == "both"
    assert found.sentence.startswith("balanced: the loader delivers 10 samples/s")


def test_a_wide_interval_does_not_make_two_sides_alike():
    # Three blocks of seconds each: the interval says next to nothing, the rates say enough.
    found = Diagnosis(rate(0.35), rate(60, 0.05), Rate(0.39, 0.1, 90.0))
    assert found.binding == "compute"


def test_training_well_below_the_side_that_binds_says_so():
    found = Diagnosis(rate(7.4), rate(9.0, 0.3), rate(30))
    assert found.binding == "data"
    assert found.sentence.endswith("; together they reach 7.4")


def test_the_stall_and_the_share_of_the_bound_come_from_the_rates():
    found = diagnosis(9.0, 10, 20)
    assert found.bound == 10
    assert found.bound_share == pytest.approx(0.9)
    assert found.stall_share == pytest.approx(0.55)
    assert diagnosis(21, 30, 20).stall_share == 0.0  # by chance above what it does alone


def test_each_side_is_a_trial_of_its_own(diagnosed):
    found, asked = diagnosed(9.0, loader=9.1, compute=21.0)
    assert asked == ["loader", "compute"]
    assert found.loader.value == pytest.approx(9.1, rel=0.02)
    assert found.compute.value == pytest.approx(21.0, rel=0.02)
    assert found.binding == "data" and found.num_workers == 2


def test_a_resident_workload_has_no_loader_side(diagnosed):
    found, asked = diagnosed(20.9, resident=True, compute=21.0)
    assert asked == ["compute"]
    assert found.loader is None and found.binding == "compute"
    assert "there is no loader" in found.sentence
    assert found.sentence.startswith("compute-bound: 21 samples/s together, the model alone 21")


@pytest.mark.parametrize("fault", ["oom", "crash", "invalid", "diverged", "hang"])
def test_a_side_that_fails_leaves_the_other_and_a_reason(diagnosed, fault):
    found, asked = diagnosed(9.0, loader=9.1, compute=fault)
    assert asked == ["loader", "compute"]
    assert found.compute is None and found.stall_share is None
    assert found.binding == "data"
    assert found.reasons["compute"] in found.sentence
    assert "the model alone was not measured" in found.sentence


def test_with_the_model_alone_known_slower_training_is_the_datas_fault(diagnosed):
    found, _ = diagnosed(9.0, loader="crash", compute=21.0)
    assert found.binding == "data" and found.stall_share == pytest.approx(12 / 21, rel=0.05)
    found, _ = diagnosed(20.5, loader="crash", compute=21.0)
    assert found.binding == "compute"


def test_without_workers_the_loader_costs_no_more_than_the_time_in_it():
    # 29 % slower than the model alone, and 1 % of the time in the loader: two processes differed.
    found = diagnosis(33, 43_000, 46.9, num_workers=0, waits=0.01)
    assert found.binding == "compute" and found.stall_share == 0.01
    assert found.sentence == (
        "compute-bound: the model takes 47 samples/s, the loader could deliver 43,000; together "
        "they reach 33, which is the difference of processes and not the loader's doing"
    )
    # Far below both, as two sides that take turns are.
    found = diagnosis(20, 60, 46.9, num_workers=0, waits=0.01)
    assert found.binding == "compute" and found.stall_share == 0.01
    # Workers may cost more than the time in `next`: they compete for the cores.
    found = diagnosis(20, 60, 46.9, num_workers=2, waits=0.01)
    assert found.binding == "neither" and found.stall_share == pytest.approx(0.574, abs=0.001)


def test_the_time_in_the_loader_comes_from_training(diagnosed):
    found, _ = diagnosed(9.0, num_workers=0, loader="crash", compute=21.0)
    assert found.waits == 0.0 and found.binding == "compute" and found.stall_share == 0.0


def test_nothing_known_is_said_and_raises_nothing(diagnosed):
    found, _ = diagnosed(9.0, loader="crash", compute="oom")
    assert (found.binding, found.bound, found.bound_share) == ("unknown", None, None)
    assert "out of memory" in found.sentence


def test_training_that_beats_its_own_bound_is_not_explained():
    found = diagnosis(111.0, 300, 93)
    assert found.binding == "unknown"
    assert "cannot be told" in found.sentence and "machine's speed changed" in found.sentence


@pytest.mark.parametrize(
    ("together", "binding", "words"),
    [
        (
            280.0,
            "data",
            "data-bound: 280 samples/s together, the loader alone 296; the model alone ",
        ),
        (
            203.0,
            "unknown",
            "which side binds is not known: 203 samples/s together, the loader alone",
        ),
        (
            100.0,
            "compute",
            "compute-bound, or they compete for the same 2 cores: 100 samples/s tog",
        ),
    ],
)
def test_with_the_loader_alone_known_the_side_that_binds_is_told_where_it_can_be(
    together, binding, words
):
    late = {"compute": "timeout"}
    found = Diagnosis(rate(together, 0.5), rate(296.0, 0.5), None, late, 2, n_cores=2)
    assert found.binding == binding and found.sentence.startswith(words)
    assert found.sentence.endswith("the model alone was not measured (timeout)")


@pytest.mark.parametrize(
    ("together", "num_workers", "waits", "binding", "words"),
    [
        (280.0, 2, 0.0, "compute", "compute-bound: "),
        (203.0, 2, 0.0, "unknown", "which side binds is not known: "),
        (100.0, 2, 0.0, "data", "data-bound, or they compete for the same 2 cores: "),
        (203.0, 0, 0.01, "compute", "compute-bound: "),  # without workers it waits, and it did not
        (100.0, 0, 0.6, "data", "data-bound, or the two take turns: "),
    ],
)
def test_with_the_model_alone_known_the_side_that_binds_is_told_where_it_can_be(
    together, num_workers, waits, binding, words
):
    late = {"loader": "timeout"}
    found = Diagnosis(
        rate(together, 0.5), None, rate(296.0, 0.5), late, num_workers, 2, waits=waits
    )
    assert found.binding == binding and found.sentence.startswith(words)


def test_a_resident_batch_is_never_the_one_that_is_waited_for(diagnosed):
    found, _ = diagnosed(9.0, resident=True, compute=21.0)
    assert found.binding == "compute" and "data-bound" not in found.sentence


@pytest.mark.parametrize(("budget_s", "is_diagnosed"), [(900, True), (150, False)])
def test_the_winner_is_diagnosed_on_a_noisy_machine_or_it_is_said(replay, budget_s, is_diagnosed):
    """Rounds go on there until not even one more fits into the time."""

    def workers(settings):
        return 300.0 if settings.num_workers else 100.0

    session = replay(workers, budget_s=budget_s, process_noise=0.1, in_memory=True)
    found = session.studied(diagnose=True)
    assert found.proof.found_better
    assert ("winner" in found.diagnoses) is is_diagnosed
    assert (UNDIAGNOSED in session.seen.notes) is not is_diagnosed
    assert session.budget.spent() <= budget_s
