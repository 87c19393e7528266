"""Times of a script's trial, on a virtual clock: no second counts twice, and no silence is told."""

from types import SimpleNamespace

import pytest

from hotlap.interpose.imposed import Imposed
from hotlap.interpose.patches import Patches
from hotlap.interpose.seen import Seen
from hotlap.job import Job, Window
from hotlap.measurement import Measurement
from hotlap.script import follower, timer
from hotlap.training import Units
from objectives import RunTime
from tests.hotlap.training.virtual_script import (
    ASK,
    BATCH,
    FORWARD,
    STEP,
    UNIT,
    Loader,
    Script,
)

COMPILE_S = 60.0
IMPORTS_S = 30.0


class Ended(Exception):
    pass


class Ending:
    is_forked = False

    def guard(self, action):
        action()

    def answer(self, event, **values):
        raise Ended({"event": event, **values})

    def fail(self, error):
        raise error


class Training(Loader):
    """A DataLoader of the script's own process."""

    num_workers, prefetch_factor, persistent_workers = 0, None, False


@pytest.fixture
def followed(monkeypatch):
    """A virtual script whose window is timed, and the events of its trial."""
    script, events, patches = Script(), [], Patches()
    script.training = Training(10**6)
    script.own_work_s = 0.0

    def emit(event, **values):
        events.append({"event": event, **values})
        if event == "built":
            script.does(script.own_work_s)

    clock = SimpleNamespace(monotonic=lambda: script.now, perf_counter=lambda: script.now)
    monkeypatch.setattr(timer, "time", clock)
    monkeypatch.setattr(follower, "time", clock)
    interposition = SimpleNamespace(seen=Seen(), notes=[], patches=patches, looked_s=0.0)
    script.interposition = interposition
    job = Job("", window=Window(max_s=1e6, min_s=1e6, block_s=3 * UNIT), script={})
    timing = timer.Timer(job, Imposed.of({}, ()), interposition, emit, Ending(), script.now)
    timing.units = script.units = Units(timing, lambda: script.now)
    script.units = timing.listener
    script.timing = timing
    yield script, events
    patches.undo()


def begin(script):
    """Importing, building, and the first steps, the first of which compiles."""
    script.does(IMPORTS_S)
    script.begins(script.training)
    script.takes(script.training)
    script.forward(seconds=FORWARD + COMPILE_S)
    script.step()
    for _ in range(30):
        script.train()


def test_the_first_step_counts_once(followed):
    script, events = followed
    begin(script)
    found = Measurement.from_events(events)
    assert found.startup_s == IMPORTS_S
    assert found.warmup[0].seconds == UNIT + COMPILE_S
    assert found.warmup[0].data_wait_s == ASK
    assert found.compile_s == COMPILE_S
    run_s = RunTime(1, n_samples=3 * BATCH).value(found)
    assert run_s == pytest.approx(IMPORTS_S + COMPILE_S + 3 * UNIT)


def test_what_hotlap_does_at_the_first_step_is_no_training(followed):
    script, events = followed
    script.own_work_s, script.interposition.looked_s = 5.0, 0.5
    script.does(IMPORTS_S)
    script.begins(script.training)
    script.takes(script.training)
    script.forward()
    script.step(seconds=STEP + 0.5)
    script.train()
    script.train()
    found = Measurement.from_events(events)
    assert found.startup_s == IMPORTS_S
    assert found.warmup[0].seconds == UNIT


def test_an_evaluation_is_heard_at_a_tenth_of_the_silence_that_ends_a_trial(followed):
    script, events = followed
    begin(script)
    script.ends(script.training)
    before = len(events)
    script.evaluate(Loader(50), n=10)  # 18 s for each batch
    told = events[before:]
    assert {event["event"] for event in told} == {"alive"}
    assert len(told) == 10
    script.does(1.0)
    for _ in range(100):
        script.forward(trains=False, seconds=0.01)
    assert len(events) - before - len(told) <= 1


def test_many_steps_on_one_batch_are_heard(followed):
    script, events = followed
    script.begins(script.training)
    script.takes(script.training)
    script.does(IMPORTS_S)
    for _ in range(10):
        script.forward(seconds=5.0)
        script.step(seconds=5.0)
    assert [e["event"] for e in events if e["event"] == "alive"] == ["alive"] * 9


def left_out(script):
    with pytest.raises(Ended) as ended:
        script.timing.script_ended()
    return ended.value.args[0]["left_out_share"]


def test_rollouts_that_come_again_and_again_are_told(followed):
    script, _ = followed
    for _ in range(6):
        for _ in range(8):
            script.forward(trains=False, seconds=5.0)
        for _ in range(16):
            script.forward()
            script.step()
    # The first rollout, and the first step, came before anything was timed.
    left_out_s, trained_s = 5 * 8 * 5.0, (6 * 16 - 1) * (FORWARD + STEP)
    assert left_out(script) == pytest.approx(left_out_s / (left_out_s + trained_s))


def test_one_before_each_step_is_part_of_the_training(followed):
    script, _ = followed
    for _ in range(30):
        script.forward(trains=False, seconds=5.0)
        script.forward()
        script.step()
    assert left_out(script) == 0.0


def test_an_evaluation_now_and_then_of_a_script_with_a_loader_is_nothing_to_tell(followed):
    script, _ = followed
    for _ in range(6):
        begin(script)
        for _ in range(8):
            script.forward(trains=False, seconds=5.0)
    assert left_out(script) == 0.0


@pytest.mark.parametrize("loader", [True, False])
def test_what_follows_a_short_script_s_last_step_is_no_part_of_its_open_block(followed, loader):
    script, events = followed
    if loader:
        script.begins(script.training)
    for _ in range(4):
        if loader:
            script.takes(script.training)
        script.forward()
        script.step()
    if loader:
        script.ends(script.training)
    script.does(1000.0)
    left_out(script)
    found = Measurement.from_events(events)
    unit_s = UNIT if loader else FORWARD + STEP
    assert [(block.steps, block.seconds) for block in found.blocks] == [(2, 2 * unit_s)]
    assert found.warmup[2:] == found.blocks


def test_an_endless_pass_has_no_epoch_start(followed):
    script, events = followed
    script.training = Training(5)
    script.begins(script.training, 20)
    script.does(500)  # what is built meanwhile
    for _ in range(60):
        script.train()
    assert left_out(script) == 0.0
    found = Measurement.from_events(events)
    assert found.warmup[0].data_wait_s == 20 + ASK
    assert found.epoch_start_s == 0.0 and not found.epochs_in_blocks
    assert found.n_epoch_steps == 5
    assert found.samples_per_s == pytest.approx(BATCH / UNIT)


def test_nothing_is_told_before_there_was_training(followed):
    script, events = followed
    for _ in range(100):
        script.forward(trains=False, seconds=STEP)
    assert events == []
