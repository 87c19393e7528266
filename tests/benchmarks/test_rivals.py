import json
import re
from dataclasses import asdict, replace

import pytest

from benchmarks import rivals
from benchmarks.rival import grid, judge
from benchmarks.rival.start import changed
from benchmarks.rival.tuners import Answer

RATES = {"none": 10.0, "bf16": 20.0}


@pytest.fixture
def asked(monkeypatch):
    """Tuners that answer at once, and blocks whose rate is that of their bits: who was asked."""
    said = []

    def ask(tuner, loop, how):
        said.append((tuner, loop))
        if tuner == "train-doctor":
            return Answer(minutes=0.1, budget_s=how.budget_s, failed="cannot be installed: x")
        return Answer({"amp": "bf16"}, 2.0, 1.9, 2.1, 1.0, how.budget_s, how.seconds)

    def walk(loop, seconds, seed):
        said.append(("grid", loop))
        return [{"settings": {"amp": "bf16"}, "rates": [20.0], "failed": ""}]

    def one_round(loop, settings, seconds, chance):
        said.append(("round", loop))
        return {arm: RATES[changed(s).get("amp", "none")] for arm, s in settings.items()}

    monkeypatch.setattr(rivals, "ask", ask)
    monkeypatch.setattr(grid, "walk", walk)
    monkeypatch.setattr(judge, "one_round", one_round)
    return said


def run(tmp_path, *words):
    return rivals.main(["--loops", "convnet", "--out", str(tmp_path / "r.json"), *words])


def test_a_run_tunes_judges_prints_and_keeps_everything(asked, tmp_path, capsys):
    assert run(tmp_path, "--rounds", "7") == 0
    out = capsys.readouterr().out
    assert "2.000x [2.000, 2.000]  2.00x [1.90, 2.10]  100.0%" in out
    assert "no: cannot be installed: x" in out and "missed: none, not judged: none" in out
    assert "doubt: convnet: train-doctor has no answer: cannot be installed: x\n" in out
    assert out.count("load average") == 2
    kept = json.loads((tmp_path / "r.json").read_text())
    assert len(kept["loops"]["convnet"]["rounds"]) == 7
    assert kept["sessions"][0]["versions"].startswith("python")


def test_a_second_run_goes_on_and_asks_only_those_without_an_answer(asked, tmp_path):
    run(tmp_path, "--rounds", "6")
    asked.clear()
    run(tmp_path, "--rounds", "7")
    assert asked == [("train-doctor", "convnet"), ("round", "convnet")]


def test_another_budget_asks_anew_and_other_arms_are_judged_anew(asked, tmp_path, monkeypatch):
    run(tmp_path, "--rounds", "6", "--tuners", "hotlap")
    asked.clear()
    answer = Answer({"amp": "bf16", "num_workers": 1}, 2.0, 1.9, 2.1, 1.0, 60.0)
    monkeypatch.setattr(rivals, "ask", lambda *_: answer)
    run(tmp_path, "--rounds", "6", "--tuners", "hotlap", "--budget", "60")
    assert asked == [("round", "convnet")] * 6


def test_answers_to_another_budget_or_with_other_blocks_are_left_out(asked, tmp_path, capsys):
    run(tmp_path, "--rounds", "6")
    capsys.readouterr()
    assert run(tmp_path, "--rounds", "6", "--tuners", "hotlap", "--budget", "300") == 3
    out = capsys.readouterr().out
    assert "not judged: convnet: no rival has an answer, so nobody knows who is first\n" in out
    assert "doubt: convnet: optuna has no answer: it was not asked with these options\n" in out
    kept = json.loads((tmp_path / "r.json").read_text())["loops"]["convnet"]
    assert sorted(kept["arms"]) == ["control", "default", "grid's best", "hotlap"]
    assert kept["tuners"]["optuna"]["budget_s"] == 120  # for a run that asks for this again
    assert run(tmp_path, "--rounds", "6", "--tuners", "hotlap") == 0
    assert run(tmp_path, "--rounds", "6", "--tuners", "hotlap", "--seconds", "1") == 0
    assert "doubt: convnet: optuna has no answer" in capsys.readouterr().out


def test_the_judge_alone_takes_the_budget_that_ours_had(asked, tmp_path, capsys):
    run(tmp_path, "--rounds", "6", "--budget", "60")
    run(tmp_path, "--rounds", "6", "--tuners", "optuna")
    words = ["--loops", "convnet", "--rounds", "6", "--judge", str(tmp_path / "r.json")]
    capsys.readouterr()
    assert rivals.main(words) == 0
    out = capsys.readouterr().out
    assert re.search(r"^pytorch-autotune +2.000x", out, re.MULTILINE)
    assert not re.search("^optuna", out, re.MULTILINE)


def test_other_blocks_are_another_grid_and_another_search_of_those_that_use_them(asked, tmp_path):
    run(tmp_path, "--rounds", "6")
    asked.clear()
    run(tmp_path, "--rounds", "6", "--seconds", "1")
    assert [who for who, _ in asked if who != "round"] in (
        ["optuna", "train-doctor", "grid"],  # the one because of the blocks, the other has none
        ["train-doctor", "optuna", "grid"],
    )
    assert asked.count(("round", "convnet")) == 6
    kept = json.loads((tmp_path / "r.json").read_text())["loops"]["convnet"]
    assert kept["grid"]["seconds"] == kept["tuners"]["optuna"]["seconds"] == kept["seconds"] == 1


def test_settings_that_fail_in_most_rounds_are_no_first_place(asked, tmp_path, monkeypatch, capsys):
    played = []

    def one_round(loop, settings, seconds, chance):
        played.append(loop)
        rates = dict.fromkeys(settings, 10.0)
        return rates | {"hotlap": 20.0 if len(played) == 1 else None}

    monkeypatch.setattr(judge, "one_round", one_round)
    assert run(tmp_path, "--rounds", "9") == 1
    out = capsys.readouterr().out
    assert "missed: convnet: fewer than 6 rounds tell of ours, which failed in 8 of 9 rounds" in out


def test_the_judge_alone_tunes_nothing_and_begins_anew(asked, tmp_path):
    run(tmp_path, "--rounds", "6")
    asked.clear()
    words = ["--loops", "convnet", "--rounds", "6", "--judge", str(tmp_path / "r.json")]
    assert rivals.main(words) == 0
    assert asked == [("round", "convnet")] * 6


def test_the_judge_alone_needs_answers(asked, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        rivals.main(["--loops", "convnet", "--judge", str(tmp_path / "none.json")])
    assert ended.value.code == 2
    assert "has no tuners, grid of convnet" in capsys.readouterr().err


def test_a_missed_target_ends_with_1_and_its_sentence(asked, tmp_path, monkeypatch, capsys):
    slow, quick = Answer({}, 1.0), Answer({"amp": "bf16"}, 2.0)

    def ask(tuner, loop, how):
        answer = slow if tuner == "hotlap" else quick
        return replace(answer, minutes=1.0, budget_s=how.budget_s, seconds=how.seconds)

    monkeypatch.setattr(rivals, "ask", ask)
    assert run(tmp_path, "--rounds", "6") == 1
    out = capsys.readouterr().out
    assert "missed: convnet: optuna is first with 2.000x [2.000, 2.000], ours 1.000x" in out
    assert "missed: convnet: 50.0% of the grid's best, not 95%" in out


@pytest.mark.parametrize(
    ("fail", "says"),
    [
        (("pytorch-autotune", "train-doctor", "optuna"), "no rival has an answer"),
        (("hotlap",), "ours gave no answer: no network"),
    ],
)
def test_where_ours_or_every_rival_fails_the_claim_does_not_hold(
    asked, tmp_path, monkeypatch, capsys, fail, says
):
    answers = rivals.ask

    def ask(tuner, loop, how):
        answer = answers(tuner, loop, how)
        return replace(answer, settings={}, failed="no network") if tuner in fail else answer

    monkeypatch.setattr(rivals, "ask", ask)
    assert run(tmp_path, "--rounds", "6") != 0
    assert says in capsys.readouterr().out


def test_without_ours_nothing_is_judged(asked, tmp_path, capsys):
    assert run(tmp_path, "--rounds", "6", "--tuners", "optuna") == 3
    out = capsys.readouterr().out
    assert "not judged: convnet: ours has no answer: it was not asked with these options\n" in out


def test_a_record_reads_back_with_ours_first():
    given = rivals.arguments([])
    answer = Answer({}, 1.0, budget_s=given.budget, seconds=given.seconds)
    one = {
        "tuners": {t: asdict(answer) for t in ("optuna", "hotlap")},
        "grid": {"points": [{"settings": {}}], "minutes": 1.0},
        "rounds": [],
    }
    assert list(rivals.loop_of("convnet", one, given).answers) == ["hotlap", "optuna"]


@pytest.mark.parametrize("text", ["{", "[1]", "{}", '{"loops": 3}'])
def test_a_damaged_record_is_told_and_is_no_missed_target(tmp_path, capsys, text):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(SystemExit) as ended:
        run(tmp_path)
    assert ended.value.code == 2
    assert "is no record of this benchmark" in capsys.readouterr().err


def test_options_that_make_no_sense_are_refused(capsys):
    with pytest.raises(SystemExit):
        rivals.arguments(["--budget", "3"])
    assert "--budget takes 30 or more" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        rivals.arguments(["--rounds", "5"])
    assert "--rounds 6 or more" in capsys.readouterr().err
