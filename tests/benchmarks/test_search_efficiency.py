"""The peers play fairly, and the figures are what they are said to be."""

import json
import math
from pathlib import Path

import pytest

from benchmarks import efficiency_report, incumbents, search_efficiency
from benchmarks.peers import SAMPLED, Peer, expert_settings
from benchmarks.search_efficiency import Searched
from benchmarks.synthetic_machine import SHAPES, true_rate
from benchmarks.synthetic_table import every_settings, lines, write
from hotlap.settings import Settings
from runners.replay import Played
from runners.table import Table

KNOBS = ("num_workers", "prefetch_factor", "memory_format")
"""18 settings."""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "synthetic.jsonl"
    return Table.read(write(path, knobs=KNOBS))


def played(settings, rate, end_s, outcome="ok"):
    return Played(settings, outcome, end_s - 1, end_s, rate)


def test_the_incumbent_is_what_measured_best_the_first_time_it_was_tried():
    slow, fast, failed = Settings(), Settings(num_workers=4), Settings(num_workers=8)
    trials = [
        played(slow, 50, 5),
        played(failed, 900, 10, "oom"),
        played(fast, 60, 15),
        played(slow, 70, 20),
    ]
    assert incumbents.of_trials(trials) == [(5, slow), (15, fast)]


def test_the_time_counts_from_when_the_incumbent_stays_near_the_best(table):
    best, base = table.best, table.base
    assert table.regret(base) > 0.02
    assert incumbents.near_s(table, [(5, base), (9, best)]) == 9
    assert incumbents.near_s(table, [(5, best), (9, base), (30, best), (40, best)]) == 30
    assert incumbents.near_s(table, [(5, best), (9, base)]) == math.inf


def test_the_regret_at_a_budget_is_that_of_the_incumbent_then(table):
    known = [(5, table.base), (9, table.best)]
    regrets = [incumbents.regret_at(table, known, budget_s) for budget_s in (4, 8, 9)]
    assert regrets == [1.0, table.regret(table.base), 0.0]


@pytest.mark.parametrize("name", [*SAMPLED, "exhaustive"])
def test_a_peer_begins_with_the_baseline_and_pays_for_no_settings_value_twice(table, name):
    trials = Peer(table, 1).run(name, 400.0 if name == "gp" else 1e6).trials
    keys = [trial.settings.key() for trial in trials]
    assert keys[0] == table.base.key()
    assert len(set(keys)) == len(keys)
    if name != "gp":  # which thinks for long
        assert set(keys) == {row.settings.key() for row in table.rows}
    assert all(t.end_s - t.start_s > 8.0 for t in trials if t.outcome == "ok")


def test_peers_meet_the_same_noise(table):
    rates = [
        {t.settings.key(): t.samples_per_s for t in Peer(table, 2).run(name, 1e6).trials}
        for name in ("exhaustive", "random")
    ]
    assert rates[0] == rates[1]


def test_a_fresh_process_pays_for_its_interpreter_each_time(tmp_path):
    """Where the table knows what another fork server costs: as much as one costs a peer."""
    clocks = []
    for start_s in (0.0, 4.0):
        made = list(lines(knobs=("memory_format",)))
        for settings in (None, 2):  # beside rows of running servers, one that had to wait
            made.append({**made[-1], "settings": Settings(intraop_threads=settings).to_dict()})
        made[-1] |= {"new_environment": True, "overhead_s": made[-2]["overhead_s"] + start_s}
        path = tmp_path / f"{start_s}.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in made))
        trials = Peer(Table.read(path), 0).run("exhaustive", 1e6).trials
        clocks.append((trials[-1].end_s, len(trials)))
    (quick_s, n), (slow_s, _) = clocks
    assert slow_s - quick_s == pytest.approx(4.0 * n)


def test_the_expert_stays_within_the_space(table):
    assert expert_settings(table).key() in {settings.key() for settings in every_settings(KNOBS)}


def test_each_shape_has_another_best(tmp_path):
    best = {
        shape: max(every_settings(), key=lambda s, m=machine: true_rate(s, m))
        for shape, machine in SHAPES.items()
    }
    assert best["data"].num_workers == 8 and best["overhead"].num_workers == 0
    assert best["compute"].amp == "bf16" and best["mixed"].amp == "none"


def searched(near_s, regret=0.0):
    return Searched(near_s, (regret,) * 3, 1)


@pytest.mark.parametrize(
    ("ours", "met"),
    [([searched(20.0)], True), ([searched(21.0)], False), ([searched(20.0, 0.04)], False)],
)
def test_targets_are_met_or_missed(table, capsys, ours, met):
    path = table.path
    found = {
        (path, "ours"): ours,
        (path, "tpe"): [searched(100.0)],
        (path, "random"): [searched(math.inf)],
        (path, "exhaustive"): [searched(500.0)],
    }
    assert efficiency_report.show([table], found, (120.0, 300.0, 600.0)) is met
    assert ("missed" in capsys.readouterr().out) is not met


def test_a_search_that_never_gets_there_misses(table):
    found = {(table.path, arm): [searched(math.inf)] for arm in ("ours", "tpe")}
    assert not efficiency_report.of_times(found)


def test_the_command_prints_every_arm_and_draws(table, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the plot is drawn by what MLflow brings")
    plot = tmp_path / "plot.png"
    arms = ["ours", "expert", "random", "exhaustive"]
    words = [str(table.path), "--seeds", "1", "--plot", str(plot), "--arms", *arms]
    assert search_efficiency.main(words) in (0, 1)
    out = capsys.readouterr().out
    assert "SYNTHETIC table synthetic.jsonl: synthetic, 18 settings" in out
    for arm in arms:
        assert any(line.startswith(f"{arm} ") for line in out.splitlines())
    assert "our regret after 300 s" in out
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_processes_change_nothing(table):
    found = [
        search_efficiency.searched(
            [table.path],
            search_efficiency.arguments(["--seeds", "2", "--arms", "ours", "--processes", n]),
        )
        for n in ("1", "2")
    ]
    assert found[0] == found[1]


def test_a_damaged_table_is_told_with_code_2(tmp_path, capsys):
    path = Path(tmp_path / "table.jsonl")
    path.write_text("{}\n")
    assert search_efficiency.main([str(path)]) == 2
    assert "table.jsonl:1: " in capsys.readouterr().err
