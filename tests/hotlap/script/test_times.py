"""Times of a script's trial, on a virtual clock: no second counts twice, and no silence is told."""

from types import SimpleNamespace

import pytest

from hotlap.interpose.imposed import Imposed
from hotlap.interpose.patches import Patches
from hotlap.interpose.seen import Seen
from hotlap.interpose.units import Units
from hotlap.job import Job, Window
from hotlap.measurement import Measurement
from hotlap.script import follower, timer
from objectives import RunTime
from tests.hotlap.interpose.virtual_script import (
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


class Ending:
    def guard(self, action):
        action()

    def answer(self, event, **values):
        raise AssertionError("it has ended")

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


def test_nothing_is_told_before_there_was_training(followed):
    script, events = followed
    for _ in range(100):
        script.forward(trains=False, seconds=STEP)
    assert events == []
