"""The peers play fairly, and the figures are what they are said to be."""

import json
import math
import re
from pathlib import Path

import pytest

from benchmarks import incumbents, search_efficiency
from benchmarks.peers import SEARCHERS, WINDOWS_S, Peer, expert_settings
from benchmarks.replay_study import replay_study
from benchmarks.search_efficiency import Arm, Task
from benchmarks.synthetic_machine import SHAPES, true_rate
from benchmarks.synthetic_table import every_settings, lines, write
from hotlap.settings import Settings
from runners.replay import Played
from runners.table import Table
from studies import Search

KNOBS = ("num_workers", "prefetch_factor", "memory_format")
"""18 settings."""

OURS = Arm("ours")


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
    assert incumbents.near_s(table, [(5, base), (9, best)], 50) == 9
    assert incumbents.near_s(table, [(5, best), (9, base), (30, best), (40, best)], 50) == 30
    assert incumbents.near_s(table, [(5, best), (9, base)], 50) == math.inf


def test_what_comes_after_the_horizon_counts_neither_for_nor_against(table):
    best, base = table.best, table.base
    assert incumbents.near_s(table, [(5, base), (51, best)], 50) == math.inf
    assert incumbents.near_s(table, [(5, best), (51, base)], 50) == 5


def test_the_regret_at_a_budget_is_that_of_the_incumbent_then(table):
    known = [(5, table.base), (9, table.best)]
    regrets = [incumbents.regret_at(table, known, budget_s) for budget_s in (4, 8, 9)]
    assert regrets == [1.0, table.regret(table.base), 0.0]


@pytest.mark.parametrize("name", SEARCHERS)
def test_a_peer_begins_with_the_baseline_and_pays_for_no_settings_value_twice(table, name):
    trials = Peer(table, 1, 4.0).run(name, 200.0 if name == "gp" else 1e6).trials
    keys = [trial.settings.key() for trial in trials]
    assert keys[0] == table.base.key()
    assert len(set(keys)) == len(keys)
    if name != "gp":  # which thinks for long
        assert set(keys) == {row.settings.key() for row in table.rows}


@pytest.mark.parametrize("window_s", WINDOWS_S)
def test_a_peers_windows_are_whole_and_no_longer_than_asked(table, window_s):
    """Blocks of half a second, after a warm-up of some seconds: the window is what differs."""
    peer, other = Peer(table, 1, window_s), Peer(table, 1, window_s + 10)
    trials = [one.run("exhaustive", 1e6).trials for one in (peer, other)]
    for short, long in zip(*trials, strict=True):
        assert short.settings == long.settings
        if short.outcome == "ok":
            more_s = (long.end_s - long.start_s) - (short.end_s - short.start_s)
            assert short.end_s - short.start_s > window_s
            assert more_s == pytest.approx(10, abs=1.5)
    assert peer.left == 0


def test_peers_meet_the_same_noise(table):
    rates = [
        {t.settings.key(): t.samples_per_s for t in Peer(table, 2, 8.0).run(name, 1e6).trials}
        for name in ("exhaustive", "random")
    ]
    assert rates[0] == rates[1]


def test_a_fresh_process_pays_for_its_interpreter_each_time(tmp_path):
    """Where the table knows what another fork server costs: as much as one costs a peer."""
    clocks = []
    for start_s in (0.0, 4.0):
        made = list(lines(knobs=("memory_format",)))
        made[0]["space"]["intraop_threads"] = {"choices": [None, 2]}
        for settings in (None, 2):  # beside rows of running servers, one that had to wait
            made.append({**made[-1], "settings": Settings(intraop_threads=settings).to_dict()})
        made[-1] |= {"new_environment": True, "overhead_s": made[-2]["overhead_s"] + start_s}
        path = tmp_path / f"{start_s}.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in made))
        trials = Peer(Table.read(path), 0, 8.0).run("exhaustive", 1e6).trials
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


def test_our_incumbents_are_what_the_search_believes_and_at_the_end_what_is_frozen(
    table, monkeypatch
):
    chosen = Settings(num_workers=1)
    search_best = Search.best

    def best(self, n):
        """Whatever was measured, it believes in something else, once it knows anything."""
        return {"chosen": chosen} if search_best(self, n) else {}

    monkeypatch.setattr(Search, "best", best)
    study = replay_study(table, 0, 600.0)
    first_s = study.trials[0].end_s
    assert study.beliefs == ((first_s, chosen),)
    judged = search_efficiency.ours(table, Task(table.path, OURS, 0))
    wanted = [*study.beliefs, (study.clock_s, study.winner)]
    assert judged.near_s == incumbents.near_s(table, wanted, search_efficiency.HORIZON_S)


def test_what_a_search_believes_has_ended_well_and_comes_in_the_order_of_time(table):
    study = replay_study(table, 0, 600.0)
    times_s = [at_s for at_s, _ in study.beliefs]
    assert times_s == sorted(set(times_s)) and 0 < times_s[0] < times_s[-1] < study.clock_s
    ended_s = {t.settings.key(): t.end_s for t in reversed(study.trials) if t.outcome == "ok"}
    assert all(ended_s[settings.key()] <= at_s for at_s, settings in study.beliefs)


@pytest.fixture
def slow_to_begin(tmp_path):
    """A table whose probe takes longer than the shortest budget: such a study fails."""
    made = list(lines(knobs=KNOBS))
    path = tmp_path / "slow.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in [made[0] | {"setup_s": 150.0}]))
    with path.open("a") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in made[1:])
    return path


def test_a_study_that_fails_is_a_regret_of_1_and_the_others_go_on(slow_to_begin, capsys):
    found = search_efficiency.ours(Table.read(slow_to_begin), Task(slow_to_begin, OURS, 0))
    assert found.regrets[0] == 1.0 > found.regrets[2] and len(found.failed) == 1
    words = [str(slow_to_begin), "--seeds", "2", "--arms", "ours", "random", "--windows-s", "2"]
    assert search_efficiency.main(words) == 1
    out = capsys.readouterr().out
    assert "2 of our studies failed, which counts as a regret of 100 % each; one:\n  " in out
    assert re.search(r"^ours .* 100.0%, 100.0%", out, re.MULTILINE)


def test_a_study_without_an_answer_was_never_near(table, monkeypatch):
    monkeypatch.setattr(search_efficiency, "BUDGETS_S", (3.0, 3.0, 3.0))
    found = search_efficiency.ours(table, Task(table.path, OURS, 0))
    assert (found.near_s, found.regrets, len(found.failed)) == (math.inf, (1.0,) * 3, 3)


def test_a_baseline_that_failed_once_judges_nothing(tmp_path, capsys):
    path = write(tmp_path / "table.jsonl", knobs=("memory_format",))
    failed = {"settings": {}, "outcome": "crash", "reason": "SIGSEGV"}
    path.write_text(f"{path.read_text()}{json.dumps(failed)}\n")
    assert search_efficiency.main([str(path)]) == 2
    assert "its baseline ended as crash in 1 of 3 lines" in capsys.readouterr().err


def test_no_table_at_all_is_told_with_code_2(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(search_efficiency, "RECORDED", tmp_path)
    assert search_efficiency.main([]) == 2
    assert "there is no table to judge on" in capsys.readouterr().err


def test_a_table_of_one_line_and_one_without_the_experts_settings_are_judged(tmp_path, capsys):
    header, *rows = lines(knobs=("memory_format",))
    path = tmp_path / "table.jsonl"
    path.write_text(f"{json.dumps(header)}\n{json.dumps(rows[0])}\n")
    words = [str(path), "--seeds", "1", "--windows-s", "2", "--arms", "ours", "random"]
    assert search_efficiency.main([*words, "exhaustive", "expert"]) in (0, 1)
    assert "1 of the 2 settings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--seeds", "0"], "argument --seeds: '0' is no whole number from 1"),
        (["--processes", "x"], "argument --processes: 'x' is no whole number from 1"),
        (["--windows-s", "2", "0"], "--windows-s takes seconds, more than 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(words, says, capsys):
    with pytest.raises(SystemExit):
        search_efficiency.arguments(words)
    assert says in capsys.readouterr().err


def test_the_command_prints_every_arm_and_draws(table, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the plot is drawn by what MLflow brings")
    plot = tmp_path / "plot.png"
    arms = ["ours", "expert", "random", "exhaustive"]
    words = [str(table.path), "--seeds", "1", "--plot", str(plot), "--windows-s", "2", "8"]
    words += ["--arms", *arms]
    assert search_efficiency.main(words) in (0, 1)
    out = capsys.readouterr().out
    assert "SYNTHETIC table synthetic.jsonl: synthetic, 18 settings" in out
    for arm in arms:
        assert any(re.match(rf"{arm}[ ,]", line) for line in out.splitlines())
    for window in ("2 s", "8 s"):
        assert f"  exhaustive, {window} " in out
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


@pytest.mark.parametrize("arms", [["ours"], ["random", "expert"]])
def test_where_nobody_is_compared_no_target_is_met(table, monkeypatch, arms):
    monkeypatch.setattr(search_efficiency.efficiency_report, "show", lambda *_: True)
    words = [str(table.path), "--seeds", "1", "--windows-s", "2", "--arms", *arms]
    assert search_efficiency.main(words) == 3
