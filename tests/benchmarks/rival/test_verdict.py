import pytest

from benchmarks.rival import verdict
from benchmarks.rival.tuners import Answer
from benchmarks.rival.verdict import Loop

SPREAD = (0.99, 1.0, 1.01) * 3


def answer(claimed=2.0, low=1.9, high=2.1, minutes=3.0, **more):
    return Answer({"amp": "bf16"}, claimed, low, high, minutes, 180.0, **more)


def loop(answers, **speedups):
    """Rounds in which each arm is so many times as fast as the default, all within 1 %."""
    rounds = [
        {"default": 10.0, "control": 10.0 * s, **{a: 10.0 * s * v for a, v in speedups.items()}}
        for s in SPREAD
    ]
    for one in rounds:
        one["grid's best"] = one.pop("grid")
    return Loop("convnet", answers, {"amp": "bf16", "num_workers": 1}, 2.5, rounds)


def judged(ours=2.0, rival=1.5, grid=2.0, rival_minutes=3.0, **mine):
    answers = {"hotlap": answer(**mine), "optuna": answer(None, None, None, rival_minutes)}
    return loop(answers, hotlap=ours, optuna=rival, grid=grid)


def test_first_at_the_grids_best_within_our_claim_misses_nothing():
    assert verdict.misses(judged()) == []


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        (judged(rival=2.4), "optuna is first with 2.400x"),
        (judged(ours=1.9, rival=1.9, claimed=1.9), "not apart from optuna, and below the grid's"),
        (judged(ours=1.8, grid=2.0, low=1.7), "90.0% of the grid's best, not 95%"),
        (judged(low=2.05), "our claim 2.00x [2.05, 2.10] does not hold the judged 2.00x"),
        (judged(rival=2.0, rival_minutes=1.0), "optuna does as well in 1.0 minutes, ours 3.0"),
    ],
)
def test_each_target_that_is_missed_is_a_sentence(case, sentence):
    (said,) = verdict.misses(case)
    assert sentence in said and said.startswith("convnet: ")


def test_a_tie_at_the_grids_best_is_first_and_a_worse_rival_may_be_quicker():
    assert verdict.misses(judged(rival=2.0)) == []
    assert verdict.misses(judged(rival=1.5, rival_minutes=0.1)) == []


def test_a_rival_without_an_answer_is_told_and_beats_nobody():
    answers = {"hotlap": answer(), "train-doctor": Answer(minutes=0.2, failed="no torch here")}
    case = loop(answers, hotlap=2.0, grid=2.0)
    assert verdict.misses(case) == []
    (line,) = [one for one in verdict.table(case).splitlines() if "train-doctor" in one]
    assert line.split() == ["train-doctor", "-", "-", "-", "0.2", "no:", "no", "torch", "here"]


def test_ours_without_an_answer_misses_and_a_comparison_without_ours_misses_nothing():
    failed = loop({"hotlap": Answer(failed="ended with code 1: x")}, grid=2.0)
    assert verdict.misses(failed) == ["convnet: ours gave no answer: ended with code 1: x"]
    assert verdict.misses(loop({"optuna": answer()}, optuna=2.0, grid=2.0)) == []


def test_a_claim_of_no_change_has_no_interval_to_keep():
    case = judged(ours=1.0, rival=1.0, grid=1.0, claimed=1.0, low=None, high=None)
    assert verdict.misses(case) == []


def test_the_table_has_a_line_for_each_arm_with_its_columns():
    head, ours, optuna, grid, control = verdict.table(judged()).splitlines()
    assert head.startswith("convnet, 9 rounds")
    for word, cell in (("judged", "2.000x [1.980"), ("claimed", "2.00x [1.90, 2.10]")):
        assert ours.index(cell) == head.index(word)
    assert "100.0%" in ours and ours.endswith("3.0      amp=bf16")
    assert optuna.split()[:5] == ["optuna", "1.500x", "[1.485,", "1.515]", "-"]
    assert "75.0%" in optuna
    assert grid.startswith("grid's best") and grid.endswith("amp=bf16 num_workers=1")
    assert control.split()[:3] == ["control", "(A/A)", "1.000x"] and control.endswith("as it was")


UNASKED = [
    f"convnet: {name} has no answer: it was not asked with these options"
    for name in ("pytorch-autotune", "train-doctor")
]


def test_a_rival_without_an_answer_is_a_doubt():
    assert verdict.doubts(judged()) == UNASKED
    answers = {"hotlap": answer(), "train-doctor": Answer(failed="cannot be installed: x")}
    said = verdict.doubts(loop(answers, hotlap=2.0, grid=2.0))
    assert "convnet: train-doctor has no answer: cannot be installed: x" in said
    assert len(said) == 3


def test_without_ours_or_any_rival_nobody_knows_who_is_first():
    assert verdict.unjudged(judged()) == []
    failed = Answer(failed="cannot be installed: x")
    alone = loop({"hotlap": answer(), "optuna": failed}, hotlap=2.0, grid=2.0)
    (said,) = verdict.unjudged(alone)
    assert said == "convnet: no rival has an answer, so nobody knows who is first"
    (said,) = verdict.unjudged(loop({"optuna": answer()}, optuna=2.0, grid=2.0))
    assert said == "convnet: ours has no answer: it was not asked with these options"


def test_a_default_that_is_not_itself_is_a_doubt():
    case = judged()
    for one in case.rounds:
        one["control"] = 11.0
    *_, said = verdict.doubts(case)
    assert "default beside itself is 1.100x" in said


def test_an_arm_that_failed_is_named_in_its_line_and_as_a_doubt_and_beats_nobody():
    case = judged(ours=1.9, rival=2.5, low=1.8)
    for one in case.rounds[:4]:
        one["optuna"] = None
    assert verdict.doubts(case) == [*UNASKED, "convnet: optuna failed in 4 of 9 rounds"]
    assert verdict.misses(case) == []
    (line,) = [one for one in verdict.table(case).splitlines() if one.startswith("optuna")]
    assert line.split()[1:7] == ["-", "(failed", "in", "4", "of", "9"]


def test_ours_that_fails_now_and_then_misses_and_so_does_a_share_of_nothing():
    case = judged()
    case.rounds[0]["hotlap"] = None
    assert verdict.misses(case) == ["convnet: what ours has frozen failed in 1 of 9 rounds"]
    case = judged()
    for one in case.rounds[:5]:
        one["grid's best"] = None
    (said,) = verdict.misses(case)
    assert "no share of the grid's best is known: it failed in 5 of 9 rounds" in said


def test_settings_are_written_as_tune_py_takes_them():
    text = verdict.written({"persistent_workers": True, "intraop_threads": None, "num_workers": 2})
    assert text == "persistent_workers=true intraop_threads=null num_workers=2"
