"""Trials and full runs on a disk that becomes full, and logs that would fill one."""

import re
from pathlib import Path

import pytest

from hotlap.errors import NoRoom
from hotlap.job import EventLog, EventReader, Job
from runners import trial
from tests.conftest import QUICK

HERE = Path(__file__).parent


def job(name, **more):
    return Job(f"misbehaving.{name}", window=QUICK, import_path=(str(HERE),), **more)


def test_an_event_without_room_is_an_error_and_spoils_no_later_one(small_disk, fill):
    reader, emit = EventReader(small_disk), EventLog(small_disk)
    filler = fill(leave=4096)
    told = 0
    with pytest.raises(OSError, match="No space left"):
        while True:
            emit("step", number=told, words="x" * 500)
            told += 1
    assert (small_disk / "events.jsonl").read_bytes()[-1:] != b"\n"  # a part of it was taken
    filler.unlink()
    emit("finished")
    names = [event["event"] for event in reader.new()]
    assert names == ["step"] * told + ["finished"] and told


def test_a_trial_that_found_no_room_says_nothing_about_its_settings(runner, small_disk):
    filler = small_disk / "filler"
    with pytest.raises(NoRoom, match="takes no more .No space left on device"):
        runner.run(
            job("fills", args={"file": str(filler)}), small_disk / "trial", lambda event: False, 120
        )
    filler.unlink()
    done = runner.run(job("good"), small_disk / "next", lambda event: False, 120)
    assert done.outcome == "ok", done.traceback


def test_a_trials_log_grows_to_a_limit_with_its_beginning_and_its_end(
    runner, tmp_path, monkeypatch
):
    monkeypatch.setattr(trial, "LOG_BYTES", 1 << 20)
    monkeypatch.setattr(trial, "LOG_FIRST_BYTES", 1 << 10)
    folder = tmp_path / "trial"
    done = runner.run(
        job("talks", args={"n_lines": 200_000}), folder, lambda event: False, timeout_s=120
    )
    assert done.outcome == "ok", done.traceback
    log = (folder / "worker.log").read_text()
    assert log.startswith("the first line\n") and trial.LOG_CUT in log
    assert "the last line\n" in log
    assert len(log) < 20_000_000


def test_a_full_disk_ends_no_full_run_and_a_later_checkpoint_is_saved(runner, small_disk, fill):
    run = {"epochs": 10**9, "folder": str(small_disk), "checkpoint_every_s": 0.5}
    seen = []

    def watch(event):
        again = "unsaved" in seen and "checkpoint" in seen[seen.index("unsaved") :]
        if again or event["event"] not in ("checkpoint", "unsaved"):
            return False
        seen.append(event["event"])
        if event["event"] == "unsaved":
            assert event["path"] == str(small_disk / "checkpoint.pt")
            assert event["reason"] == "No space left on device"
            (small_disk / "filler").unlink(missing_ok=True)
        elif "unsaved" in seen:
            raise KeyboardInterrupt
        else:
            fill(leave=200_000)  # for events, and for a part of a checkpoint
        return False

    with pytest.raises(KeyboardInterrupt):
        runner.run(job("large", kind="full_run", run=run), small_disk, watch, 600)
    assert re.fullmatch(r"(checkpoint )+(unsaved )+checkpoint", " ".join(seen))
    left = {path.name for path in small_disk.iterdir()}
    assert left == {"job.json", "events.jsonl", "worker.log", "checkpoint.pt"}


def test_the_last_checkpoint_has_to_be_saved(runner, small_disk, fill):
    fill(leave=200_000)
    run = {"epochs": 1, "folder": str(small_disk)}
    words = "the last checkpoint, of step 8, cannot be saved as .*: No space left on device; an"
    with pytest.raises(NoRoom, match=words):
        runner.run(job("large", kind="full_run", run=run), small_disk, lambda event: False, 120)
    assert not list(small_disk.glob("*checkpoint*")) + list(small_disk.glob(".*"))
