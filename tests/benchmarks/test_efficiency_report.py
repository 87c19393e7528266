"""What is printed of searches: who is compared with whom, and what is claimed of it."""

import math
import re

import pytest

from benchmarks import efficiency_report
from benchmarks.search_efficiency import Arm, Searched
from benchmarks.synthetic_table import write
from runners.table import Table


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "synthetic.jsonl"
    return Table.read(write(path, knobs=("num_workers",)))


def searched(near_s, regret=0.0, **more):
    return Searched(near_s, (regret,) * 3, 1, **more)


OURS, TPE = Arm("ours"), Arm("tpe", 4.0)


@pytest.mark.parametrize(("n_repeats", "says"), [(1, True), (2, False)])
def test_of_a_table_without_repeats_it_is_said_that_processes_are_exact(
    tmp_path, capsys, n_repeats, says
):
    table = Table.read(write(tmp_path / "table.jsonl", n_repeats=n_repeats, knobs=("amp",)))
    efficiency_report.show([table], {(table.path, OURS): [searched(1.0)]}, (120.0, 300.0, 600.0))
    assert (", each once: no noise between processes\n" in capsys.readouterr().out) is says


@pytest.mark.parametrize(
    ("ours", "met"),
    [([searched(20.0)], True), ([searched(21.0)], False), ([searched(20.0, 0.04)], False)],
)
def test_targets_are_met_or_missed(table, capsys, ours, met):
    path = table.path
    found = {
        (path, OURS): ours,
        (path, TPE): [searched(100.0)],
        (path, Arm("random", 8.0)): [searched(math.inf)],
        (path, Arm("exhaustive", 8.0)): [searched(500.0, all_s=900.0)],
    }
    assert efficiency_report.show([table], found, (120.0, 300.0, 600.0)) is met
    out = capsys.readouterr().out
    assert ("missed" in out) is not met
    assert "exhaustive, 8 s      500 s, reached by 100%; all has been tried after 900 s" in out


def test_ours_is_compared_with_each_peers_best_window_and_all_windows_are_printed(table, capsys):
    times_s = {2.0: 90.0, 4.0: 70.0, 8.0: 80.0}
    found = {(table.path, OURS): [searched(35.0)]}
    found |= {(table.path, Arm("tpe", w)): [searched(s)] for w, s in times_s.items()}
    found |= {(table.path, Arm("random", w)): [searched(10 * s)] for w, s in times_s.items()}
    assert not efficiency_report.show([table], found, (120.0, 300.0, 600.0))
    block, _, over_all = capsys.readouterr().out.partition("over all tables")
    assert re.findall(r"^(tpe|random), (\d) s", block, re.MULTILINE) == [
        ("tpe", "4"),
        ("random", "4"),
    ]
    assert re.findall(r"^  tpe, (\d) s +(\d+) s,", over_all, re.MULTILINE) == [
        ("2", "90"),
        ("4", "70"),
        ("8", "80"),
    ]
    assert "ours takes 0.50 of tpe, 4 s; wanted 0.20: missed" in over_all


def test_windows_that_reach_it_equally_seldom_are_told_apart_by_their_mean(table):
    slow, quick = [searched(s) for s in (500.0, math.inf, math.inf)], [searched(math.inf)] * 3
    found = {(table.path, Arm("tpe", 2.0)): quick, (table.path, TPE): slow}
    assert efficiency_report.at_best_windows(found, 600.0) == [TPE]


def test_a_search_that_never_gets_there_misses(table, capsys):
    found = {(table.path, arm): [searched(math.inf)] for arm in (OURS, TPE)}
    assert not efficiency_report.of_times(found, 600.0)
    assert "ours takes no known part of tpe, 4 s" in capsys.readouterr().out


@pytest.mark.parametrize(("ours_s", "met"), [(120.0, True), (121.0, False)])
def test_of_a_peer_that_never_gets_there_no_more_is_claimed_than_the_horizon(
    table, capsys, ours_s, met
):
    found = {(table.path, OURS): [searched(ours_s)], (table.path, TPE): [searched(math.inf)]}
    assert efficiency_report.of_times(found, 600.0) is met
    assert "ours takes at most 0.20 of tpe, 4 s" in capsys.readouterr().out


def test_times_are_not_said_to_be_met_where_nobody_is_compared(table, capsys):
    for arm in (OURS, TPE):
        assert efficiency_report.of_times({(table.path, arm): [searched(9.0)]}, 600.0)
        out = capsys.readouterr().out
        assert "times are not compared" in out and "met" not in out
