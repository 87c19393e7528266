"""A full run is compared with what was promised, and only where the promise holds."""

from reports.training import TrainingProgress

STEP = {
    "event": "step",
    "epoch": 0,
    "step_in_epoch": 4,
    "n_epoch_steps": 28,
    "loss": 0.5,
    "samples_per_s": 2000.0,
}
TRAINED = {"steps": 28, "samples": 1790, "samples_per_s": 2000.0, "loss": 0.25}


def told(console):
    return " ".join(console.file.getvalue().split())


def test_what_was_promised_stands_beside_what_is_reached(plain):
    with TrainingProgress(plain, 1, 1000.0) as progress:
        progress.event(STEP)
    progress.end(TRAINED, (900.0, 1100.0))
    assert "2,000 samples/s (200 % of promised)" in told(plain)
    assert "promised: 1,000 samples/s [900" in told(plain)
    assert "this run reached 200.0% of it" in told(plain)


def test_a_promise_for_another_machine_is_told_once_and_not_compared_with(plain):
    with TrainingProgress(plain, 1, 1000.0) as progress:
        progress.promised_for("another machine")
        progress.promised_for("another machine and another workload")
        progress.event(STEP)
    progress.end(TRAINED, (900.0, 1100.0))
    lines = [line for line in plain.file.getvalue().splitlines() if "promise" in line]
    assert lines == [
        "  the promised 1,000 samples/s were measured on another machine, so this run is not "
        "compared with them; tune.py here makes a promise for it"
    ]
    assert "2,000 samples/s" in told(plain) and "of promised" not in told(plain)


def test_where_nothing_was_promised_there_is_nothing_to_say(plain):
    with TrainingProgress(plain, 1, None) as progress:
        progress.promised_for("another machine")
        progress.event(STEP)
    progress.end(TRAINED, None)
    assert "promise" not in told(plain)


def test_a_session_of_one_step_or_none_has_no_rate_to_tell(plain):
    with TrainingProgress(plain, 1, 1000.0) as progress:
        progress.end({**TRAINED, "samples": 0, "samples_per_s": 0.0}, None)
    assert told(plain) == "trained 28 steps in all, loss 0.2500"


def test_a_checkpoint_that_nobody_can_load_is_told(plain):
    with TrainingProgress(plain, 1, None) as progress:
        progress.event({"event": "unreadable", "path": "full-1/checkpoint.pt", "reason": "a Rate"})
    assert "resume= cannot go on from full-1/checkpoint.pt: a Rate" in told(plain)


def test_a_session_that_trained_nothing_has_no_loss_to_tell(plain):
    with TrainingProgress(plain, 1, None) as progress:
        progress.end({**TRAINED, "samples_per_s": 0.0, "loss": None}, None)
    assert told(plain) == "trained 28 steps in all"
