import json
import re
from dataclasses import replace

import pytest

from benchmarks import racing
from benchmarks.replay_study import replay_study
from benchmarks.synthetic_table import write
from runners.table import Table

KNOBS = ("num_workers", "prefetch_factor", "memory_format", "amp")
"""36 settings: a walk through them takes a fraction of a second."""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "synthetic.jsonl"
    return Table.read(write(path, knobs=KNOBS))


@pytest.fixture(scope="module")
def walks(table):
    return {arm: racing.walked(table, arm, n_seeds=2) for arm in racing.ARMS}


def in_order(study):
    return list(dict.fromkeys(trial.settings.key() for trial in study.trials))


def test_all_arms_walk_through_the_same_trials_in_the_same_order(table, walks):
    for seed in range(2):
        first, *others = [in_order(studies[seed]) for studies in walks.values()]
        assert len(first) == 36 and others == [first] * 3


def test_racing_saves_clock_and_gives_the_same_answer(walks):
    saved = {arm: racing.savings(walks["fixed"], studies) for arm, studies in walks.items()}
    assert saved["fixed"] == [0.0, 0.0]
    assert all(share > 0.05 for arm in ("precise", "short") for share in saved[arm])
    assert all(r > p + 0.05 for r, p in zip(saved["racing"], saved["precise"], strict=True))
    assert max(racing.worse(walks["fixed"], walks["racing"])) <= racing.SAME


def test_two_answers_of_ten_that_are_far_off_are_seen_at_the_90_percent_quantile(walks):
    def studies(*regrets):
        return [replace(walks["fixed"][0], regret=regret) for regret in regrets]

    good, off = [0.01] * 10, [0.01] * 8 + [0.15] * 2
    assert racing.worse(studies(*good), studies(*off)) == pytest.approx((0.0, 0.14))
    assert racing.worse(studies(*good), studies(*good)) == (0.0, 0.0)


def test_windows_are_whole_in_the_fixed_arm_and_the_shortest_in_the_short_one(walks):
    fixed, short = (
        # The first run of each: which settings the proof runs again is an arm's own affair.
        {
            t.settings.key(): t.end_s - t.start_s
            for t in reversed(walks[arm][0].trials)
            if t.outcome == "ok"
        }
        for arm in ("fixed", "short")
    )
    both = fixed.keys() & short.keys()
    assert len(both) > 10 and all(5 < fixed[key] - short[key] < 7 for key in both)
    assert min(fixed.values()) > 8.0


def test_the_command_prints_both_comparisons_and_says_that_a_table_is_synthetic(table, capsys):
    assert racing.main(["--seeds", "1", "--budget-s", "120", str(table.path)]) == 0
    out = capsys.readouterr().out
    assert "SYNTHETIC table synthetic.jsonl: synthetic, 36 settings, 1 seeds" in out
    assert (
        re.findall(r"^(fixed|short|precise|racing) .*%$", out, re.MULTILINE)
        == ["fixed", "short", "precise", "racing"] * 2
    )
    assert "claim: at most 1% each: kept" in out


def test_a_table_without_noise_between_processes_judges_no_racing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(racing, "SAME", -1.0)  # what any other table would miss
    once = write(tmp_path / "once.jsonl", n_repeats=1, knobs=("memory_format", "amp"))
    assert racing.main(["--seeds", "1", "--budget-s", "120", str(once)]) == 3
    assert "claim: at most -100% each: not judged, for processes" in capsys.readouterr().out
    twice = write(tmp_path / "twice.jsonl", knobs=("memory_format", "amp"))
    assert racing.main(["--seeds", "1", "--budget-s", "120", str(once), str(twice)]) == 1
    assert "each: missed" in capsys.readouterr().out


def test_studies_that_fail_are_counted_and_end_nothing(table, tmp_path, capsys):
    first, _, rest = table.path.read_text().partition("\n")
    path = tmp_path / "slow.jsonl"
    path.write_text(json.dumps({**json.loads(first), "setup_s": 100.0}) + "\n" + rest)
    assert racing.main(["--seeds", "1", "--budget-s", "90", str(path)]) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"^\w+: 1 of 2 studies failed; one: \w", out, re.MULTILINE)) == 4
    assert out.count("100.0%, 100.0%") == 4


def test_nothing_is_saved_by_a_study_that_failed(walks):
    fixed, racing_ = walks["fixed"][0], walks["racing"][0]
    failed = replace(racing_, failed="no baseline", trials=())
    assert racing.savings([fixed, failed, fixed], [failed, racing_, fixed]) == [0.0, 0.0, 0.0]


def test_a_baseline_that_failed_once_judges_nothing(tmp_path, capsys):
    path = write(tmp_path / "table.jsonl", knobs=("memory_format",))
    failed = {"settings": {}, "outcome": "oom", "reason": "no memory"}
    path.write_text(f"{path.read_text()}{json.dumps(failed)}\n")
    assert racing.main([str(path)]) == 2
    assert "its baseline ended as oom in 1 of 3 lines" in capsys.readouterr().err


def test_a_damaged_table_is_told_with_code_2(tmp_path, capsys):
    path = tmp_path / "table.jsonl"
    path.write_text("{}\n")
    assert racing.main([str(path)]) == 2
    assert "table.jsonl:1: " in capsys.readouterr().err


def test_racing_leaves_time_for_more_trials_within_a_budget(table):
    tried = {
        arm: sum(
            replay_study(table, seed, 300, "random", pruner, words).n_tried for seed in range(3)
        )
        for arm, (pruner, words) in racing.ARMS.items()
    }
    assert tried["racing"] > tried["fixed"]
