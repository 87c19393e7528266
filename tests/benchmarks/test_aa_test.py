import contextlib
import math
import os
import subprocess
import sys

import pytest

from benchmarks import aa_test
from benchmarks.aa_test import Answer, most, summary, wrong
from hotlap.errors import StudyFailed
from hotlap.measurement import Rate
from studies import Arm, Confirmed
from tests.conftest import ROOT


def answer(value, half, n_rounds=5):
    return Answer(Rate(value, value - half, value + half), n_rounds, 0.1)


def test_a_difference_where_there_is_none_is_wrong_and_an_interval_that_misses_too():
    answers = [answer(1.0, 0.02), answer(1.1, 0.02), answer(0.9, 0.02)]
    assert wrong("noisy", answers) == 2
    assert wrong("known", [answer(1.49, 0.02), answer(1.4, 0.02), answer(1.6, 0.02)]) == 2
    assert "said faster 1 of 3, slower 1; the interval holds 1 in 1 of 3" in summary(
        "quiet", answers
    )


def test_an_interval_without_ends_holds_nothing():
    one_round = Answer(Rate(1.0, 0.0, math.inf), 1, 0.1)
    assert wrong("quiet", [one_round]) == 1


def test_so_many_wrong_answers_prove_more_than_five_percent():
    """0.95^40 is 13 %, and so on: 4 or more come in 13.8 % of runs, 5 or more in 4.8 %."""
    assert most(40) == 4
    assert [most(n) for n in (0, 1, 2, 10)] == [0, 1, 1, 2]


@pytest.fixture
def runs(monkeypatch, capsys):
    """A run whose studies say these one after another: its exit code, and what it prints."""

    class Runner(contextlib.nullcontext):
        def __init__(self, **_):
            super().__init__()

    def runs(*said, kinds=("quiet",)):
        def study(*_):
            one = next(answers)
            if isinstance(one, Exception):
                raise one
            return one

        answers = iter(said)
        monkeypatch.setattr(aa_test, "ProcessRunner", Runner)
        monkeypatch.setattr(aa_test, "study", study)
        n = len(said) // len(kinds)
        return aa_test.main(["--studies", str(n), "--kinds", *kinds]), capsys.readouterr().out

    return runs


RIGHT, WRONG = answer(1.0, 0.02), answer(1.1, 0.02)


@pytest.mark.parametrize(("n_wrong", "code", "broken"), [(3, 0, "none"), (8, 1, "quiet")])
def test_only_what_chance_does_not_explain_breaks_the_claim(runs, n_wrong, code, broken):
    ended, out = runs(*[WRONG] * n_wrong, *[RIGHT] * (40 - n_wrong))
    assert ended == code
    assert f"holds 1 in {40 - n_wrong} of 40 (wanted: 36 or more)" in out
    assert out.endswith(f"of the answers are wrong; proven to be more: {broken}\n")


def test_a_study_without_an_answer_ends_nothing(runs):
    code, out = runs(RIGHT, StudyFailed("other: crash: SIGSEGV"), RIGHT)
    assert code == 3
    assert "quiet, study 2 has no answer: other: crash: SIGSEGV\n" in out
    assert "the interval holds 1 in 2 of 2" in out
    assert out.endswith("proven to be more: none; not measured: quiet, study 2\n")


def test_a_kind_without_an_answer_is_not_judged(runs):
    code, out = runs(StudyFailed("other: crash: SIGSEGV"), RIGHT, kinds=("noisy", "quiet"))
    assert code == 3
    assert "the interval holds 1 in 1 of 1" in out
    assert out.endswith("proven to be more: none; not measured: noisy, study 1\n")


def test_a_study_in_which_one_arm_alone_ends_well_has_no_answer(monkeypatch, runner, tmp_path):
    def confirm(rounds, arms):
        baseline, other = (Arm(name, settings) for name, settings in arms.items())
        return Confirmed([baseline], 1, failed=(other,), n_wanted=1)

    monkeypatch.setattr(aa_test, "confirm", confirm)
    with pytest.raises(StudyFailed, match="there was no time to measure anything beside"):
        aa_test.study(runner, tmp_path, aa_test.SAME, 0, 2)


@pytest.mark.slow
def test_it_runs_and_says_what_it_found():
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.aa_test", "--kinds", "known"),
            *("--studies", "1", "--rounds", "2"),
        ],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert "known: said faster" in done.stdout, done.stdout + done.stderr
