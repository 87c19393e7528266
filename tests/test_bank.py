"""The bank as a user meets it: tune twice, then train."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_tune import QUICK, folders, tune

from hotlap import frozen

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow

WORDS = [
    "+model=digits_mlp",
    "tracking=none",
    "bank.path=bank",
    "search_space=[optimizer]",
    *(word for word in QUICK if not word.startswith("confirm")),
    "confirm.n_best=1",
]


def results(cwd):
    return [json.loads((folder / "result.json").read_text()) for folder in folders(cwd)]


def test_the_second_study_is_much_shorter_and_ends_with_the_same_settings(tmp_path):
    code, out, err = tune(tmp_path, *WORDS)
    assert code == 0, out + err
    (first,) = results(tmp_path)
    assert first["bank"] == {"added": 1, "updated": 0, "hit": 0, "kept": 0, "unsatisfied": 0}, out
    assert "The bank: 1 added, 0 updated, 0 hit, 0 kept, 0 unsatisfied" in " ".join(out.split())
    (kept,) = (tmp_path / "bank").glob("*.yaml")

    code, out, err = tune(tmp_path, *WORDS)
    assert code == 0, out + err
    _, second = results(tmp_path)
    assert second["bank"]["hit"] == 1, out
    one, two = (folder / "frozen.yaml" for folder in folders(tmp_path))
    assert frozen.load(two) == frozen.load(one) == frozen.load(kept)
    assert second["found_better"] and second["winner"]["speedup"]["low"] > 1
    n_trials = [len(list((folder / "trials").iterdir())) for folder in folders(tmp_path)]
    assert n_trials[1] < n_trials[0]

    command = [sys.executable, str(ROOT / "train.py"), *WORDS[:3], "max_steps=3"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "the bank has settings for this workload on this machine, proven" in told
    assert f"settings={kept}" in done.stdout.replace("\n", "")
    assert "settings default" in told  # offered, not applied
