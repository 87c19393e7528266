"""In which words a trial is ended that is not heard of."""

from dataclasses import replace

from hotlap.job import Job
from runners.silence import patience_s, too_silent

TRIAL = Job("my_job.make", settings={})


def test_a_probe_is_not_told_of_steps_that_it_does_not_train():
    probe = replace(TRIAL, kind="probe")
    allowed_s = patience_s(probe, {"started", "preparing"})
    assert too_silent(probe, {"started"}, allowed_s) == ""
    said = too_silent(probe, {"started"}, allowed_s + 1)
    assert "nothing was heard of the probe within window.first_step_s=120 s" in said
    assert "hotlap.preparing" in said and "step was done" not in said


def test_a_trial_is_ended_with_what_it_has_not_done():
    assert "no step was done" in too_silent(TRIAL, {"started", "built"}, 121)
    assert "no block ended" in too_silent(TRIAL, {"started", "built", "warmup"}, 121)
