from dataclasses import replace

import pytest

from hotlap.measurement import Block, Measurement
from runners.gpu_watch import NOT_SLOWED, THROTTLE_REASONS
from studies import doubts
from studies.doubts import Watched
from studies.window_doubts import MIB, THROTTLES

BLOCK = Block(steps=10, samples=320, seconds=2.0)
QUIET = Measurement((BLOCK,) * 4, n_epoch_steps=1000, num_workers=2)


def trials(n_touched, n, touched, n_prefetched=4):
    """`n` trials, the first `n_touched` of them with the measurement `touched`."""
    return [Watched(touched if i < n_touched else QUIET, n_prefetched) for i in range(n)]


def with_blocks(measurement=QUIET, **values):
    return replace(measurement, blocks=tuple(replace(b, **values) for b in measurement.blocks))


def queue(*n_ready, steps=10):
    blocks = tuple(Block(steps, 32 * steps, 2.0, n_ready=n) for n in n_ready)
    return replace(QUIET, blocks=blocks)


ODD = {
    "machine-busy": with_blocks(other_cpu_share=0.31),
    "gpu-shared": replace(QUIET, gpu={"gpu_other_processes": 2.0, "gpu_other_bytes": 3.0 * 2**30}),
    "clocks-throttled": replace(QUIET, gpu={"gpu_throttle_share": 0.5}),
    "gpu-unwatched": replace(QUIET, peak_device_bytes=MIB),
    "window-too-short": queue(4, 2, steps=1),
    "short-dataset": replace(QUIET, epochs_in_blocks=True, n_epoch_steps=10),
    "epoch-start-unknown": replace(QUIET, epoch_start_s=50.0, epoch_start_known=False),
    "not-settled": replace(QUIET, settled=False),
    "much-left-out": replace(QUIET, left_out_share=0.7),
}


def test_a_quiet_study_gives_rise_to_none():
    assert doubts.of_trials(trials(0, 20, QUIET)) == []
    assert doubts.of_trials([]) == []


@pytest.mark.parametrize("name", ODD)
def test_each_oddity_is_said_once_with_the_trials_it_touches(name):
    (doubt,) = doubts.of_trials(trials(12, 20, ODD[name]))
    assert doubt.name == name
    assert "12 of 20 runs of the proof" in doubt.sentence
    assert doubt.cause and doubt.advice


@pytest.mark.parametrize("name", ODD)
def test_one_trial_of_many_is_put_right_by_its_repeats(name):
    assert doubts.of_trials(trials(4, 20, ODD[name])) == []
    (alone,) = doubts.of_trials(trials(1, 1, ODD[name]))
    assert "the only run" in alone.sentence


@pytest.mark.parametrize(
    ("gpu", "untold"),
    [
        ({}, "whether others were on the GPU or whether a limit held its clocks down"),
        ({"gpu_throttle_share": 0.0}, "whether others were on the GPU"),
        ({"gpu_other_processes": 0.0}, "whether a limit held its clocks down"),
        ({"gpu_throttle_share": 0.0, "gpu_other_bytes": 0.0}, None),
    ],
)
def test_what_nobody_told_of_a_gpu_is_said(gpu, untold):
    found = doubts.gpu_unwatched(trials(5, 5, replace(QUIET, peak_device_bytes=MIB, gpu=gpu)))
    assert (found is None) == (untold is None)
    if found:
        assert f"the driver did not tell {untold}; the figures" in found.sentence


def test_oddities_of_all_kinds_come_together():
    odd = replace(ODD["not-settled"], gpu={"gpu_throttle_share": 0.5})
    odd = with_blocks(odd, other_cpu_share=0.4)
    found = [doubt.name for doubt in doubts.of_trials(trials(5, 5, odd))]
    assert found == ["machine-busy", "clocks-throttled", "not-settled"]


def test_a_busy_machine_says_for_which_machine_the_figures_hold():
    seen = trials(3, 5, with_blocks(other_cpu_share=0.31))
    doubt = doubts.machine_busy(seen)
    assert "others used 31 % of this machine's CPU" in doubt.sentence
    assert "hold for a machine as busy as that" in doubt.sentence
    assert doubts.machine_busy(trials(5, 5, with_blocks(other_cpu_share=0.05))) is None


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        ({"gpu_other_processes": 0.0, "gpu_other_bytes": 4.0 * MIB}, None),  # an idle H100
        ({"gpu_other_processes": 1.0, "gpu_other_bytes": 518.0 * MIB}, "1 process, with 518 MiB"),
        ({"gpu_other_processes": 2.0}, "2 processes, with 0 MiB"),
        ({"gpu_other_bytes": 3.0 * 2**30}, "the driver does not list, with 3,072 MiB"),
    ],
)
def test_who_else_holds_the_gpu_is_told_with_its_memory(gpu, words):
    doubt = doubts.gpu_shared(trials(5, 5, replace(QUIET, gpu=gpu)))
    assert words in doubt.sentence if words else doubt is None


def test_throttling_names_the_limit_that_was_seen_most():
    gpu = {
        "gpu_throttle_share": 0.4,
        "gpu_throttle_sw_power_cap_share": 0.1,
        "gpu_throttle_hw_thermal_slowdown_share": 0.35,
        "gpu_throttle_gpu_idle_share": 0.6,
    }
    doubt = doubts.clocks_throttled(trials(5, 5, replace(QUIET, gpu=gpu)))
    assert "40 % of the time" in doubt.sentence and "mostly hw_thermal_slowdown" in doubt.sentence
    assert doubt.cause == "it is too warm"
    unknown = replace(QUIET, gpu={"gpu_throttle_share": 0.4})
    assert "does not say" in doubts.clocks_throttled(trials(5, 5, unknown)).cause


def test_every_limit_that_the_gpu_watch_knows_has_its_cause():
    assert set(THROTTLES) == set(THROTTLE_REASONS.values()) - set(NOT_SLOWED)


@pytest.mark.parametrize(
    ("measurement", "n_prefetched", "said"),
    [
        (queue(4, 3, 2, steps=1), 4, True),  # three steps out of a queue of four
        (queue(4, 2, 2, steps=2), 4, True),  # six: fewer than four for each of two workers
        (queue(4, 4, 4, steps=1), 4, False),  # its workers are idle
        (queue(4, 4, 4, steps=3), 4, False),
        (queue(16, 12, 8, 3), 16, True),  # on its way down
        (queue(3, 8, 12, 16), 16, False),  # on its way up: the model binds
        (queue(16, 15, 16, 14), 16, False),  # at rest
        (queue(None, None, steps=1), 4, True),  # a system whose queues have no size
        (queue(0, 0, steps=1), 0, False),  # no workers, no queue
        (replace(queue(4, 4, steps=1), epochs_in_blocks=True), 4, False),
    ],
)
def test_a_window_is_too_short_if_its_batches_were_made_before(measurement, n_prefetched, said):
    found = doubts.window_too_short([Watched(measurement, n_prefetched)])
    assert (found is not None) is said


def test_a_script_that_ended_while_it_warmed_up_is_told_apart_from_a_cap():
    blocks = tuple(Block(n, 8 * n, 0.1 * n, at_step=at) for n, at in ((1, 1), (1, 2), (30, 32)))
    early = replace(QUIET, warmup=blocks, blocks=blocks[2:], settled=False)
    doubt = doubts.not_settled(trials(4, 5, early))
    assert "in 4 of 5 runs of the proof the script ended while it was warming up" in doubt.sentence
    assert "max_warmup_s" not in doubt.advice
    # One step is ready when the others begin, and 29 of 30 are made: the queue is told as well.
    assert doubts.window_too_short([Watched(early, 32)]).name == "window-too-short"


def test_a_data_set_of_few_batches_is_told_from_one_that_fits_into_the_window():
    few = doubts.short_dataset([Watched(replace(QUIET, n_epoch_steps=3))])
    assert "an epoch has 3 steps" in few.sentence and "mostly its start" in few.sentence
    whole = doubts.short_dataset([Watched(ODD["short-dataset"])])
    assert "an epoch has 10 steps" in whole.sentence and "whole epochs were timed" in whole.sentence
    one = doubts.short_dataset([Watched(replace(QUIET, n_epoch_steps=1))])
    assert "an epoch has 1 step," in one.sentence
    assert doubts.short_dataset([Watched(replace(QUIET, n_epoch_steps=None))]) is None
