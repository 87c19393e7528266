"""When a silent trial is ended, and with which words: time is constructed."""

import math
from types import SimpleNamespace

import pytest

from hotlap.job import Job, Window
from runners import trial as module
from runners.trial import Trial

WINDOW = Window(first_step_s=120.0, silence_s=60.0)


@pytest.fixture
def late(monkeypatch, tmp_path):
    """What ends a trial that was silent for so long after the events with these names."""

    def late(silent_s, names, kind="window", script=True):
        job = Job("", window=WINDOW, kind=kind, script={} if script else None)
        trial = Trial(None, job, tmp_path, lambda event: False, math.inf)
        trial._names, trial._heard = set(names), 1000.0
        clock = SimpleNamespace(monotonic=lambda: 1000.0 + silent_s)
        monkeypatch.setattr(module, "time", clock)
        return trial._late()

    return late


def test_a_script_that_has_not_trained_yet_is_told_so(late):
    assert late(119, ["started"]) == ""
    assert "no torch.optim optimizer stepped" in late(121, ["started"])


@pytest.mark.parametrize("kind", ["window", "probe", "losses"])
def test_one_that_has_trained_is_not_told_that_it_did_not(late, kind):
    reason = late(121, ["started", "training"], kind)
    assert "optimizer" not in reason
    assert "window.first_step_s=120 s" in reason and "type window.first_step_s=1200" in reason


def test_a_silence_in_the_window_names_the_key_and_what_else_a_script_may_do(late):
    assert late(59, ["started", "training", "built", "warmup"]) == ""
    reason = late(61, ["started", "training", "built", "warmup"])
    assert "window.silence_s=60 s" in reason and "checkpoint" in reason
    assert "type window.silence_s=600" in reason


def test_a_workloads_silence_names_the_key(late):
    assert "window.silence_s=60 s" in late(61, ["built", "warmup"], script=False)
    assert "window.first_step_s=120 s" in late(121, ["built"], script=False)
    assert late(1000, ["started"], script=False) == ""
    assert late(1000, ["built", "warmup"], "full_run", script=False) == ""
