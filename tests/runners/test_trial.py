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

    def late(silent_s, names, kind="window", script=True, **settings):
        job = Job("", settings=settings, window=WINDOW, kind=kind, script={} if script else None)
        trial = Trial(None, job, tmp_path, lambda event: False, math.inf, math.inf)
        trial._names, trial._heard = set(names), 1000.0
        clock = SimpleNamespace(monotonic=lambda: 1000.0 + silent_s)
        monkeypatch.setattr(module, "time", clock)
        return trial._late()

    return late


def test_a_script_that_has_not_trained_yet_is_told_so(late):
    assert late(119, ["started"]) == ""
    said = late(121, ["started"])
    assert "no torch.optim optimizer stepped" in said and "accelerate launch, deepspeed" in said


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


def test_a_workloads_silence_names_the_key_and_what_to_type(late):
    silence = late(61, ["built", "warmup"], script=False)
    assert "window.silence_s=60 s" in silence and silence.endswith("type window.silence_s=600")
    first = late(121, ["built"], script=False)
    assert "window.first_step_s=120 s" in first and first.endswith("type window.first_step_s=1200")
    assert late(1000, ["started"], script=False) == ""
    assert late(1000, ["built", "warmup"], "full_run", script=False) == ""


@pytest.mark.parametrize("script", [False, True])
@pytest.mark.parametrize(
    ("names", "limit_s", "key"),
    [
        (["built"], 720, "window.first_step_s=120, 600 to compile"),
        (["built", "training"], 720, "window.first_step_s=120, 600 to compile"),
        (["built", "training", "warmup"], 660, "window.silence_s=60, 600 to compile"),
    ],
)
def test_a_compiler_has_longer_until_the_trial_is_warm(late, script, names, limit_s, key):
    compiled = {"script": script, "compile_mode": "max-autotune"}
    assert late(limit_s - 1, names, **compiled) == ""
    reason = late(limit_s + 1, names, **compiled)
    assert f"within {limit_s} s ({key})" in reason
    assert "the compiler is still at work (compile_mode=max-autotune)" in reason
    assert "type window." in reason
    assert "window.silence_s=60 s" in late(61, [*names, "warmup", "warm"], **compiled)


def test_losses_of_compiled_settings_have_longer_too(late):
    assert late(700, ["built"], "losses", script=False, compile_mode="default") == ""
    assert "compiler" in late(721, ["built"], "losses", script=False, compile_mode="default")
