import math
from dataclasses import replace

import pytest

from hotlap.errors import UserInputError
from hotlap.measurement import Block, Measurement
from objectives import RunTime, Throughput
from objectives.protocol import Objective
from objectives.run_time import first_start_s

# 32 samples a step of 0.2 s: 160 samples/s. An epoch has 10 steps, 320 samples.
BLOCKS = tuple(Block(steps=10, samples=320, seconds=2.0, data_wait_s=0.1) for _ in range(3))
PLAIN = Measurement(BLOCKS, startup_s=3.0, epoch_start_s=0.5, n_epoch_steps=10)


def test_run_time_adds_up_what_is_paid_once_each_epoch_and_each_step() -> None:
    objective: Objective = RunTime(epochs=4)
    assert (objective.direction, objective.unit) == ("minimize", "s")
    assert objective.value(PLAIN) == pytest.approx(3.0 + 4 * (0.5 + 10 * 0.2))
    assert objective.value(replace(PLAIN, compile_s=40.0)) == pytest.approx(40.0 + 3.0 + 10.0)


def test_the_data_sets_true_length_goes_before_the_loaders() -> None:
    # A study on a part of the data: 1,600 samples take 10 s, and an epoch still starts once.
    assert RunTime(2, n_samples=1600).value(PLAIN) == pytest.approx(3.0 + 2 * (0.5 + 10.0))


def test_an_epoch_that_is_only_begun_has_a_start_all_the_same() -> None:
    assert RunTime(1.5).value(PLAIN) == pytest.approx(3.0 + 2 * 0.5 + 1.5 * 2.0)


def test_compilation_loses_in_a_short_run_and_wins_in_a_long_one() -> None:
    """The compiled step is twice as fast and costs 60 s: it pays from 600 steps on, 60 epochs."""
    faster = tuple(replace(b, seconds=1.0, data_wait_s=0.0) for b in BLOCKS)
    compiled = replace(PLAIN, blocks=faster, compile_s=60.0)
    for epochs, wins in ((59, False), (61, True)):
        objective = RunTime(epochs)
        compiled_s, plain_s = objective.value(compiled), objective.value(PLAIN)
        assert (compiled_s < plain_s) is wins
        # The same objective for rates takes it however short the run.
        assert Throughput().value(compiled) > Throughput().value(PLAIN)


def test_workers_that_stay_are_started_once() -> None:
    """Persistent: the first epoch waits 8 s for its workers, each later one 0.1 s for its order."""
    first = Block(steps=1, samples=32, seconds=8.3, data_wait_s=8.11)
    stay = replace(PLAIN, warmup=(first,), epoch_start_s=0.1)
    assert first_start_s(stay) == pytest.approx(8.0)
    assert RunTime(90).value(stay) == pytest.approx(3.0 + 8.0 + 90 * (0.1 + 2.0))
    # Not persistent: every epoch waits the 8.1 s, and none of them waits more than the others.
    go = replace(stay, epoch_start_s=8.1)
    assert first_start_s(go) == 0.0
    assert RunTime(90).value(go) == pytest.approx(3.0 + 90 * (8.1 + 2.0))


def test_where_whole_epochs_are_timed_their_starts_are_in_the_rate() -> None:
    first = Block(steps=1, samples=32, seconds=1.0, data_wait_s=0.9)
    epochs = tuple(Block(steps=10, samples=320, seconds=3.0, data_wait_s=1.0) for _ in range(3))
    whole = Measurement(epochs, (first,), startup_s=3.0, epochs_in_blocks=True, n_epoch_steps=10)
    assert RunTime(5).value(whole) == pytest.approx(3.0 + 5 * 3.0)
    stay = replace(whole, blocks=tuple(replace(b, data_wait_s=0.2) for b in epochs))
    assert RunTime(5).value(stay) == pytest.approx(3.0 + 0.7 + 5 * 3.0)


def test_a_trial_midway_is_projected_from_what_it_has_shown() -> None:
    """As racing asks: one block, the warm-up's cost known, the epoch's start not yet."""
    events = [
        {"event": "built", "startup_s": 3.0, "n_epoch_steps": 10, "num_workers": 0},
        {"event": "warm", "warmup_s": 42.0, "compile_s": 40.0, "reason": "settled"},
        {"event": "block", "steps": 10, "samples": 320, "seconds": 4.0, "data_wait_s": 0.0},
        {"event": "block", "steps": 10, "samples": 320, "seconds": 2.0, "data_wait_s": 0.0},
    ]
    midway = Measurement.from_events(events)
    one = replace(midway, blocks=midway.blocks[1:])
    assert RunTime(10).value(one) == pytest.approx(3.0 + 40.0 + 10 * 2.0)
    assert RunTime(10).value(midway) > RunTime(10).value(one)


def test_nothing_measured_is_the_longest_run() -> None:
    assert RunTime(90).value(Measurement(())) == math.inf


def test_a_data_set_without_length_is_told_before_a_trial_is_run() -> None:
    for objective in (RunTime(90), RunTime(90, n_samples=None)):
        with pytest.raises(UserInputError, match=r"run\.n_samples=1281167"):
            objective.learn({"n_epoch_steps": None})
        with pytest.raises(UserInputError, match=r"run\.n_samples=1281167"):
            objective.value(replace(PLAIN, n_epoch_steps=None))
    RunTime(90, n_samples=1600).learn({"n_epoch_steps": None})
    RunTime(90).learn({"n_epoch_steps": 10})
    endless = replace(PLAIN, n_epoch_steps=None)
    assert RunTime(2, n_samples=1600).value(endless) == pytest.approx(3.0 + 2 * (0.5 + 10.0))


@pytest.mark.parametrize("epochs", [math.inf, math.nan, 0.0, -1.0])
def test_a_full_run_comes_to_an_end(epochs: float) -> None:
    with pytest.raises(UserInputError, match="type e.g. run.epochs=90"):
        RunTime(epochs)


def test_a_run_begins_with_its_interpreter_and_its_imports() -> None:
    objective = RunTime(4)
    before_s = objective.value(PLAIN)
    objective.learn({"n_epoch_steps": 10, "process_start_s": 4.0})
    assert objective.value(PLAIN) == before_s + 4.0
    # A table that was recorded without them.
    objective.learn({"n_epoch_steps": 10})
    assert objective.value(PLAIN) == before_s
