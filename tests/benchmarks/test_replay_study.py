"""Whole studies by tune.py's own course, on a synthetic table."""

import json
import statistics

import pytest

from benchmarks.replay_study import replay_study
from benchmarks.synthetic_table import write
from hotlap.errors import UserInputError
from runners.table import Table

LONG_S = 1800.0


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return Table.read(write(tmp_path_factory.mktemp("tables") / "synthetic.jsonl"))


def test_the_same_seed_is_the_same_study_and_another_seed_another(table):
    assert replay_study(table, 3, 300) == replay_study(table, 3, 300)
    assert replay_study(table, 3, 300).trials != replay_study(table, 4, 300).trials


@pytest.mark.parametrize("sampler", ["tpe", "random", "gp", "brute_force"])
@pytest.mark.parametrize("budget_s", [60, 600])
def test_a_study_keeps_its_budget_on_the_virtual_clock(table, sampler, budget_s):
    study = replay_study(table, 0, budget_s, sampler)
    assert study.clock_s <= budget_s
    assert study.clock_s == study.trials[-1].end_s
    assert study.trials[0].settings == table.base
    # Long enough for a real one, in virtual time: nothing here waits.
    assert study.clock_s > 0.5 * budget_s


def test_studies_find_the_best_of_the_table_within_two_percent(table):
    studies = [replay_study(table, seed, LONG_S) for seed in range(5)]
    assert statistics.median(study.regret for study in studies) <= 0.02
    assert all(study.found_better for study in studies)
    assert all(study.regret == table.regret(study.winner) for study in studies)


def test_what_a_study_says_of_its_winner_is_near_the_truth(table):
    study = replay_study(table, 0, LONG_S)
    assert study.speedup == pytest.approx(study.true_speedup, rel=0.05)


def test_the_search_ends_with_the_last_new_settings_value(table):
    study = replay_study(table, 0, 600)
    late = [trial for trial in study.trials if trial.start_s >= study.searched_s]
    before = {t.settings.key() for t in study.trials if t.end_s <= study.searched_s}
    assert late and all(trial.settings.key() in before for trial in late)
    assert study.n_tried == len(before)


def test_a_study_that_fails_is_an_answer_with_its_reason(table):
    study = replay_study(table, 0, 3)  # its probe alone takes longer
    assert study.winner is None and not study.found_better and study.true_speedup is None
    assert study.regret == 1.0 and "budget" in study.failed
    assert replay_study(table, 0, 300).failed == ""


def test_a_baseline_that_fails_at_times_has_no_true_speedup(tmp_path):
    path = write(tmp_path / "table.jsonl", knobs=("memory_format",))
    failed = {"settings": {}, "outcome": "crash", "reason": "SIGSEGV", "wall_s": 3.0}
    path.write_text(f"{path.read_text()}{json.dumps(failed)}\n")
    studies = [replay_study(Table.read(path), seed, 120) for seed in range(6)]
    ended = [study for study in studies if not study.failed]
    assert 0 < len(ended) < len(studies)  # one in three meets the line that failed
    assert all(study.true_speedup is None for study in studies)


def test_nothing_is_written_to_the_current_folder_or_the_screen(
    table, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    replay_study(table, 0, 120)
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr() == ("", "")


def test_a_wrong_word_is_told(table):
    with pytest.raises(UserInputError, match="did you mean 'window.max_s'|no key 'maxs'"):
        replay_study(table, 0, 120, words=("window.maxs=3",))
