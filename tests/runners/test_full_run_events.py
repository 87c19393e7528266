"""What the tuner's process keeps of a full run, which may tell its steps for weeks."""

import pytest

from hotlap.job import Job

pytestmark = pytest.mark.slow

DIGITS = {"data": {"dataset": "hotlap.zoo.digits.digits"}, "batch_size": 64, "width": 8}


@pytest.mark.parametrize("word", ["trained", "failed"])
def test_the_watch_sees_all_events_and_the_last_one_is_kept(runner, tmp_path, word):
    run = {"epochs": 3, "folder": str(tmp_path), "checkpoint_every_s": 0.0, "resume": None}
    if word == "failed":
        run["resume"] = str(tmp_path / "nowhere.pt")
    seen = []
    job = Job("hotlap.zoo.mlp.digits_mlp", DIGITS, kind="full_run", run=run)
    done = runner.run(job, tmp_path, lambda event: bool(seen.append(event)), 240)
    assert len(seen) > 1 and seen[0]["event"] != word
    assert [event["event"] for event in done.events] == [word]
    assert done.events == (seen[-1],)
    assert (done.outcome == "ok") is (word == "trained")
