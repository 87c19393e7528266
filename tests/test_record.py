"""Recording and replaying as a user types it."""

import json
import signal
import time

import pytest

from runners.table import Table
from search_spaces.auto import auto_values
from tests.conftest import LIMIT_S

RECORD = (
    "--config-dir my_conf +model=make sampler=brute_force record=table.jsonl tracking=none"
    " search_space=[dataloader] search_space.num_workers.choices=[0,1]"
    " search_space.prefetch_factor.choices=[2,4]"
    " ~search_space.multiprocessing_context ~search_space.persistent_workers"
    " window.max_s=30 window.precision=0.5 window.min_s=0.1 window.block_s=0.05"
    " window.max_warmup_s=0.5 runner.preload=[torch]"
).split()

pytestmark = pytest.mark.slow


def n_lines(path):
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_killed_recorder_goes_on_and_its_table_can_be_replayed(users_folder, start, tune):
    path = users_folder / "table.jsonl"
    tuner = start(users_folder, *RECORD)
    deadline = time.monotonic() + LIMIT_S
    while n_lines(path) < 2 and tuner.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    tuner.send_signal(signal.SIGKILL)
    code, out, err = tuner.finish()
    assert code == -signal.SIGKILL, out + err
    before = path.read_text().splitlines()
    assert len(before) >= 2

    code, out, err = tune(users_folder, *RECORD)
    assert code == 0, out + err
    after = path.read_text().splitlines()
    assert after[: len(before)] == before
    table = Table.read(path)
    found = [row.settings.key() for row in table.rows]
    assert len(found) == len(set(found)) and f"all {len(found)} recorded" in out
    assert f"{len(found)} settings into table.jsonl" in out
    assert table.header["facts"]["cores"] >= 1 and table.header["setup_s"] > 0
    (job, *_) = (users_folder / "outputs").glob("*/*/trials/0000/job.json")
    assert json.loads(job.read_text())["window"]["max_s"] == 30.0  # no share of a budget
    assert all(row.outcome == "ok" and row.data["overhead_s"] >= 0 for row in table.rows)

    words = ["runner=replay", "runner.table=table.jsonl", "budget=5m"]
    code, out, err = tune(users_folder, *words)
    assert code == 0, out + err
    assert out.rstrip().splitlines()[-1].startswith("frozen settings: outputs/make/")
    (folder,) = {p.parent for p in (users_folder / "outputs").glob("*/*/frozen.yaml")}
    assert not (folder / "trials").exists()
    assert json.loads((folder / "result.json").read_text())["wall_s"] <= 300

    code, out, err = tune(users_folder, *RECORD, "model.batch_size=32")
    assert code == 2 and "batches of 16 samples, now 32" in err and "record=<another file>" in err
    assert path.read_text().splitlines() == after


def test_a_recording_goes_on_with_the_facts_that_it_began_with(users_folder, tune):
    """Facts are measured, and another session measures others: those of the table hold."""
    path = users_folder / "table.jsonl"
    words = [word for word in RECORD if "num_workers" not in word]
    code, out, err = tune(users_folder, *words, "n_trials=1")
    assert code == 0, out + err
    first, _, rest = path.read_text().partition("\n")
    header = json.loads(first)
    # As if the samples had waited for a busy disk when the recording began.
    header["facts"] |= {"sample_cpu_s": 1e-3, "sample_wall_s": 4e-3}
    choices = list(auto_values("num_workers", header["facts"]))
    assert choices != header["space"]["num_workers"]["choices"]
    header["space"]["num_workers"]["choices"] = choices
    path.write_text(json.dumps(header) + "\n" + rest)

    code, out, err = tune(users_folder, *words, "n_trials=1")
    assert code == 0, out + err
    table = Table.read(path)
    assert len(table.rows) == 2 and table.header == header

    header["facts"]["batch_size"] *= 2
    path.write_text(json.dumps(header) + "\n" + rest)
    code, out, err = tune(users_folder, *words, "n_trials=1")
    assert code == 2 and "the workload has changed since this table began (batches of" in err, err
    assert "'record=<another file>'" in err

    header["facts"]["batch_size"] //= 2
    header["facts"]["cpu"] = "another one"
    path.write_text(json.dumps(header) + "\n" + rest)
    code, out, err = tune(users_folder, *words, "n_trials=1")
    assert code == 2 and "was recorded on another machine" in err, out + err
    assert "cpu was another one there and is" in err


def test_a_table_made_by_hand_needs_neither_facts_nor_words(tmp_path, tune):
    blocks = [{"steps": 4, "samples": 100, "seconds": 0.5 + i / 100} for i in range(6)]
    header = {"table": 1, "workload": {"name": "w"}, "space": {"num_workers": {"choices": [0, 2]}}}
    rows = [{"settings": {"num_workers": n}, "outcome": "ok", "blocks": blocks} for n in (0, 2)]
    path = tmp_path / "table.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *rows)))
    words = ["runner=replay", "runner.table=table.jsonl", "budget=2m"]
    code, out, err = tune(tmp_path, *words)
    assert code == 0, out + err
    assert "train.py +model=<name> settings=" in out
