"""The bank as a user meets it: tune twice, then train."""

import json

import pytest

from hotlap import frozen
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

CONF = ROOT / "examples" / "waiting_samples" / "conf"
MODEL = ["--config-dir", str(CONF), "+model=waiting", "model.batch_size=8", "model.wait_ms=5"]
SAME = [*MODEL, "tracking=none", "bank.path=bank"]
STUDY = (
    "search_space=[dataloader] search_space.num_workers.choices=[0,3] "
    "~search_space.prefetch_factor ~search_space.persistent_workers ~search_space.in_order "
    "~search_space.multiprocessing_context ~search_space.pin_memory ~search_space.non_blocking "
    "window.max_s=0.3 window.min_s=0.1 window.block_s=0.05 window.max_warmup_s=1 budget=3m "
    "confirm.n_best=1 confirm.max_rounds=4 runner.preload=[torch]"
).split()
"""Samples that wait, and workers: a gain that no noise hides, for it is time asleep."""


def folders(cwd):
    return sorted(path.parent for path in (cwd / "outputs").glob("*/*/result.json"))


def results(cwd):
    return [json.loads((folder / "result.json").read_text()) for folder in folders(cwd)]


def test_the_second_study_is_much_shorter_and_ends_with_the_same_settings(tmp_path, done):
    out = done(tmp_path, *SAME, *STUDY)
    (first,) = results(tmp_path)
    assert first["bank"] == {"added": 1, "updated": 0, "hit": 0, "kept": 0, "unsatisfied": 0}, out
    assert "The bank: it has these settings from now on." in " ".join(out.split())
    (kept,) = (tmp_path / "bank").glob("*.yaml")

    out = done(tmp_path, *SAME, *STUDY)
    _, second = results(tmp_path)
    assert second["bank"]["hit"] == 1, out
    one, two = (folder / "frozen.yaml" for folder in folders(tmp_path))
    assert frozen.load(two) == frozen.load(one) == frozen.load(kept)
    assert second["found_better"] and second["winner"]["speedup"]["low"] > 1
    n_trials = [len(list((folder / "trials").iterdir())) for folder in folders(tmp_path)]
    assert n_trials[1] < n_trials[0]

    out = done(tmp_path, *SAME, "max_steps=3", entry="train.py")
    told = " ".join(out.split())
    assert "the bank has settings for this workload on this machine, proven" in told
    assert f"settings={kept}" in out.replace("\n", "")
    assert "settings default" in told  # offered, not applied
