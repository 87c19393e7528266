"""A table made by other means, with ten of 500 settings and few of the optional keys."""

import json
import re

import pytest

import search_spaces
from benchmarks.judged import space_of
from benchmarks.peers import SEARCHERS, Peer, expert_settings
from benchmarks.replay_study import replay_study
from hotlap import frozen
from hotlap.settings import Settings
from runners.table import Table

SPACE = {
    "memory_format": {"choices": ["contiguous", "channels_last"]},
    "num_workers": {"choices": [0, 1, 2, 3, 4]},
    "intraop_threads": {"choices": [None, 1, 2, 3, 4]},
    "pin_memory": {"choices": [False, True]},
    "cudnn_benchmark_limit": {"choices": [0, 1, 2, 3, 10]},
}
LAYOUT = {"memory_format": "channels_last"}
BEST = {"num_workers": 3, "intraop_threads": 2, **LAYOUT}
RATES = [
    ({}, 100),
    ({"num_workers": 1}, 110),
    ({"num_workers": 2}, 130),
    (LAYOUT, 115),
    ({"num_workers": 4, **LAYOUT}, 140),
    ({"num_workers": 3, **LAYOUT}, 150),
    (BEST, 200),
    ({"intraop_threads": 1}, 80),
    ({"intraop_threads": 1, "num_workers": 2}, 90),
    ({"cudnn_benchmark_limit": 0, "pin_memory": True}, 101),
]
FACTS = {
    **{"device": "cpu", "loader": True, "batch_size": 8, "sample_cpu_s": 0.1, "sample_wall_s": 0.1}
}
"""The expert takes half as many workers as there are cores."""


def row(settings, rate):
    blocks = [{"steps": 5, "samples": rate / 2, "seconds": 0.5 + 0.005 * (i % 3)} for i in range(8)]
    return {"settings": settings, "outcome": "ok", "warmup_blocks": blocks[:2], "blocks": blocks}


@pytest.fixture
def written(tmp_path):
    def write(**facts):
        header = {"table": 1, "workload": {"name": "mine"}, "space": SPACE}
        path = tmp_path / "table.jsonl"
        lines = [{**header, "facts": {**FACTS, **facts}}, *(row(*each) for each in RATES)]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return path

    return write


def test_a_study_keeps_to_what_the_table_has_and_says_so(written, tmp_path, done):
    written(cores=8)
    words = ("runner=replay", "runner.table=table.jsonl", "budget=10m")
    out = re.sub(r"\s+", " ", done(tmp_path, *words))
    assert "the table has 10 of the 500 settings of its space, and no others are tried" in out
    assert "the table does not have the expert's settings: there is no expert" in out
    assert "Expert: its settings are not in the table." in out
    assert "every settings value that the table has was tried" in out
    (unseen,) = re.findall("what ([^:]*) brings is not known: the table does not have", out)
    assert set(unseen.split(", ")) == {"memory_format", "num_workers"}
    (result,) = tmp_path.glob("outputs/mine/*/result.json")
    assert set(json.loads(result.read_text())["n_outcomes"]) <= {"ok", "pruned"}
    assert frozen.load(result.with_name("frozen.yaml")) == Settings(**BEST)


def test_the_machine_that_replays_changes_nothing(written, monkeypatch):
    table, studies = Table.read(written()), []
    for cores in (2, 64):
        here = {"cores": cores, "shm_free_bytes": cores << 20, "memory_bytes": cores << 30}
        monkeypatch.setattr(search_spaces, "machine_facts", lambda here=here: here)
        studies.append(replay_study(table, 0, 300))
    assert studies[0] == studies[1] and studies[0].winner == Settings(**BEST)
    assert expert_settings(table) == table.base  # nobody knows how many cores there were
    assert expert_settings(Table.read(written(cores=8))) is None


@pytest.mark.parametrize("name", [name for name in SEARCHERS if name != "gp"])
def test_peers_try_what_the_table_has_each_once_and_nothing_else(written, name):
    table = Table.read(written())
    peer = Peer(table, 1, 2.0)
    tried = [trial.settings.key() for trial in peer.run(name, 1e6).trials]
    assert len(tried) == 10 and set(tried) == {settings.key() for settings in table.known}
    assert peer._rates.keys() == set(tried)  # what a table cannot answer is no trial


def test_a_space_may_name_a_knob_before_the_one_that_it_waits_for(written):
    table = Table.read(written())
    waits = {"choices": [2, 4], "when": {"knob": "num_workers", "above": 0}}
    wider = Table({**table.header, "space": {"prefetch_factor": waits, **SPACE}}, table.rows)
    assert space_of(wider).size == 500 + 400
