"""What passes the gate and what does not, with real training in real processes."""

import time
from pathlib import Path

import pytest
from simulated import Watching

from hotlap.job import Job, Window
from hotlap.measurement import Block, Measurement
from hotlap.settings import Settings
from objectives import Throughput, accepts, same_data
from runners.protocol import Run
from search_spaces import Knob, numerics_class
from studies import Gate, Lab, affordable_steps
from studies.gate import UNKNOWN

HERE = Path(__file__).parent
N_STEPS = 8

CLASSES = {
    **dict.fromkeys(
        ("num_workers", "persistent_workers", "multiprocessing_context", "interop_threads"), "exact"
    ),
    **dict.fromkeys(
        ("in_order", "memory_format", "optimizer_kernel", "intraop_threads", "cudnn_benchmark"),
        "rounding",
    ),
    "amp": "precision",
}
KNOBS = [Knob(name, ("?",), numerics=numerics) for name, numerics in CLASSES.items()]


class Counted:
    """Counts the jobs that go to a runner."""

    def __init__(self, runner):
        self.runner, self.n = runner, 0
        self.clock = runner.clock

    def run(self, *args):
        self.n += 1
        return self.runner.run(*args)


@pytest.fixture
def gate(runner, tmp_path):
    def gate(name, n_steps=N_STEPS, run_s=0.0, **base):
        """With `run_s` each run takes so long on the gate's own clock."""
        baseline = Settings.from_dict(base)
        job = Job(f"gated.{name}", window=Window(), import_path=(str(HERE),))
        counted = Counted(runner)
        lab = Lab(counted, job, tmp_path, Throughput(), Watching())

        def class_of(settings):
            return numerics_class(settings, baseline, KNOBS)

        clock = (lambda: run_s * counted.n) if run_s else time.monotonic
        rules = {"accepts": accepts, "same_data": same_data, "clock": clock}
        made = Gate(lab, baseline, class_of, n_steps, **rules)
        made.runs = counted
        return made

    return gate


def s(**values):
    return Settings.from_dict(values)


def test_settings_that_keep_the_training_pass_and_the_baseline_is_run_twice_for_all_of_them(gate):
    passing = gate("good")
    for settings in (
        s(num_workers=2),
        s(num_workers=1, multiprocessing_context="spawn", persistent_workers=True),
        s(memory_format="channels_last"),
        s(optimizer_kernel="fused", intraop_threads=2),
        s(cudnn_benchmark=True),
        s(amp="bf16", num_workers=1),
        s(amp="fp16"),
    ):
        assert passing(settings, 300) == "", settings
        assert passing.compared.startswith(f"{N_STEPS} steps on the same batches, class ")
    assert passing.runs.n == 2 + 7 + 4  # the model has dropout, so the baseline rolled its dice


def test_other_loading_of_augmented_samples_is_proven_to_the_bit(gate):
    passing = gate("good")
    assert passing(s(num_workers=2), 300) == ""
    assert passing.compared == (
        "8 steps on the same batches, class exact: its losses are bit for bit the baseline's over "
        "8 steps"
    )


def test_the_baseline_itself_needs_no_run(gate):
    passing = gate("raises")
    assert passing(Settings(), 300) == "" and passing.runs.n == 0


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("nan_under_bf16", s(amp="bf16"), "its loss is nan at step 1"),
        ("overflows_in_fp16", s(amp="fp16"), "its GradScaler skipped 20 updates in 1 steps"),
        ("larger_loss_with_cudnn_benchmark", s(cudnn_benchmark=True), "its first loss is"),
        (
            "larger_gradient_with_cudnn_benchmark",
            s(cudnn_benchmark=True),
            "its first update's size is",
        ),
        (
            "last_bit_with_two_interop_threads",
            s(interop_threads=3),
            "its settings should not change the arithmetic, and its loss at step",
        ),
        ("other_in_workers", s(num_workers=1), "its batch 1 is another one than the baseline's"),
        (
            "dies_under_bf16",
            s(amp="bf16"),
            "its steps ended as crash: the worker ended with exit code 7 after its event 'built'",
        ),
        (
            "out_of_memory_under_bf16",
            s(amp="bf16"),
            "its steps ended as oom: OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00",
        ),
    ],
)
def test_what_trains_otherwise_or_not_at_all_is_refused_with_the_reason(
    gate, name, settings, words
):
    refusing = gate(name)
    reason = refusing(settings, 300)
    assert words in reason and not reason.startswith(UNKNOWN)
    assert "winner" not in reason  # it is judged before the rounds
    assert refusing(s(optimizer_kernel="fused"), 300) == ""  # it is that setting, not the workload


def test_a_dataset_with_a_generator_of_its_own_is_compared_with_the_baselines_loading(gate):
    passing = gate("own_generator")
    assert passing(s(num_workers=2), 300) == ""
    assert passing.compared.startswith("only its way of loading differs; the dataset has random")
    assert passing(s(num_workers=2, memory_format="channels_last"), 300) == ""
    assert "class rounding" in passing.compared
    assert passing.runs.n == 2 + 1 + 2 + 4


def test_nothing_is_claimed_where_the_baseline_fails_or_no_time_is_left(gate):
    reason = gate("raises")(s(num_workers=1), 300)
    assert reason.startswith(UNKNOWN + "the baseline: ") and "rows.pt" in reason
    assert gate("good")(s(num_workers=1), 0.0) == (
        UNKNOWN + "there was no time left for the baseline's steps"
    )
    assert gate("good", run_s=100)(s(num_workers=1), 150) == (
        UNKNOWN + "there was no time left for its steps"
    )
    reason = gate("good")(s(num_workers=1), 0.001)
    assert reason.startswith(UNKNOWN + "the baseline's steps ended as timeout: ")


def test_what_was_seen_to_train_otherwise_is_refused_also_without_time_for_more_runs(gate):
    refusing = gate("larger_gradient_with_cudnn_benchmark", run_s=100)
    reason = refusing(s(cudnn_benchmark=True), 300)  # two runs of the baseline, one of the winner
    assert refusing.runs.n == 3
    assert reason.startswith("it does not train as the baseline does: its first update's size is")
    assert "was not seen: there was no time left for the baseline's steps" in reason


def trial(step_s, n_blocks=4, wall_s=12.0):
    blocks = tuple(Block(10, 80, 10 * step_s) for _ in range(n_blocks))
    return Run("ok", Measurement(blocks), wall_s=wall_s)


def test_steps_are_as_many_as_the_time_allows_within_reason():
    # Eight runs, each of 2 s start and then 0.25 s a step.
    assert affordable_steps(trial(0.25), 8 * (2 + 10 * 0.25)) == 10
    assert affordable_steps(trial(0.25), 1000) == 30
    assert affordable_steps(trial(0.25), 1) == 5
    assert affordable_steps(Run("ok", Measurement(())), 100) == 5
