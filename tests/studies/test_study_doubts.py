import math
from pathlib import Path

import pytest

from hotlap.measurement import Ratio
from studies import doubts, doubts_of
from studies.doubt import more_time

LONGER = more_time(Path("outputs/mine/1"))


def drifting(change, n=6, seconds=600.0):
    """Rates from 400 samples/s on that change by the share `change`, on a straight line."""
    return [(seconds * i / (n - 1), 400.0 * (1 + change * i / (n - 1))) for i in range(n)]


@pytest.mark.parametrize(("change", "words"), [(-0.13, "13 % slower"), (0.2, "20 % faster")])
def test_a_baseline_that_drifts_is_told_with_how_much_and_in_how_long(change, words):
    doubt = doubts.baseline_drift(drifting(change), n_trials=31)
    assert doubt.name == "baseline-drift"
    assert words in doubt.sentence and "600 s" in doubt.sentence
    assert "It touches all settings that were tried meanwhile." in doubt.sentence
    assert "touches" not in doubts.baseline_drift(drifting(change), n_trials=1).sentence


def test_a_step_in_the_baselines_rate_is_a_drift_too():
    rates = [(60.0 * i, 400.0 if i < 3 else 300.0) for i in range(6)]
    assert "slower" in doubts.baseline_drift(rates).sentence


def test_a_drift_that_turns_round_is_told_too():
    rates = [(60.0 * i, rate) for i, rate in enumerate((400, 400, 200, 200, 400, 400))]
    doubt = doubts.baseline_drift(rates, noise_share=0.1)
    assert "went between 200 and 400 samples/s and back in the 300 s between its" in doubt.sentence
    assert doubts.baseline_drift(rates, noise_share=0.2) is None
    assert doubts.baseline_drift([*rates[:2], (120.0, 200), *rates[4:]]) is None  # one alone


@pytest.mark.parametrize("turned", [False, True])
def test_a_step_near_an_end_that_never_turned_round_is_not_said_to_have_come_back(turned):
    jitter = (0, 0, 0.01, 0, 0, 0, 0, -0.01, 0, 0, 0.01, -0.01)
    rates = [(400 if i < 9 else 480) * (1 + share) for i, share in enumerate(jitter)]
    times = range(660, -60, -60) if turned else range(0, 720, 60)
    doubt = doubts.baseline_drift(list(zip(times, rates, strict=True)), noise_share=0.01)
    words = "from 480 to 400" if turned else "from 400 to 480"
    assert f"the baseline went {words} samples/s in the 660 s between its" in doubt.sentence


def test_what_is_no_drift_is_not_told():
    assert doubts.baseline_drift(drifting(0.03)) is None
    assert doubts.baseline_drift(drifting(0.2), noise_share=0.1) is None
    # One disturbed measurement of five; the mean would have moved by 15 %.
    assert doubts.baseline_drift([(0, 400), (60, 401), (120, 100), (180, 399), (240, 400)]) is None
    assert doubts.baseline_drift([(0.0, 400.0)]) is None
    assert doubts.baseline_drift([]) is None


def test_a_wide_interval_is_told_with_its_ends():
    doubt = doubts.wide_interval("the winner", Ratio(1.8, 1.1, 2.9), 3, LONGER)
    assert doubt.name == "wide-interval"
    assert "[1.10, 2.90]" in doubt.sentence and "3 rounds" in doubt.sentence
    assert doubt.advice.startswith("go on with resume=outputs/mine/1 and a larger budget=")
    assert doubts.wide_interval("the winner", Ratio(1.8, 1.75, 1.85), 8, LONGER) is None


def test_an_interval_that_is_wide_beside_a_small_gain_is_told_and_beside_a_large_one_is_not():
    for speedup, told in ((10.0, False), (1.67, False), (1.2, True), (0.9, True)):
        ratio = Ratio(speedup, 0.94 * speedup, 1.06 * speedup)
        doubt = doubts.wide_interval("the winner", ratio, 5, LONGER)
        assert (doubt is not None) is told, speedup
    assert doubts.wide_interval("the winner", Ratio(10.0, 3.0, 30.0), 3, LONGER)


def test_an_interval_that_is_not_known_is_told_so():
    for unknown in (Ratio(1.8, 0.0, math.inf), Ratio(1.8, 0.01, 90.0)):
        doubt = doubts.wide_interval("trial 7", unknown, 1, LONGER)
        assert "from 1 round says nothing: too few runs" in doubt.sentence
    assert doubts.wide_interval("trial 7", Ratio(0.0, 0.0, math.inf), 0, LONGER) is None


def test_two_modes_are_told_with_both_rates_and_the_setting_that_may_help():
    doubt = doubts.two_modes(20.0, 223.0, 0.4)
    assert doubt.name == "two-modes"
    assert "223" in doubt.sentence and "20 samples/s" in doubt.sentence and "40 %" in doubt.sentence
    assert doubt.advice.startswith(
        "tune anew, from another baseline: the command of this study with "
        "settings.omp_wait_policy=passive or settings.intraop_threads=<fewer than"
    )
    assert "omp_wait_policy" not in doubts.two_modes(20.0, 223.0, 0.4, "passive").advice
    assert doubts.two_modes(20.0, 20.0, 0.4) is None
    assert doubts.two_modes(20.0, 223.0, 0.4, who="the winner").sentence.startswith("the winner ")


def test_two_modes_of_the_winner_are_told_though_the_baseline_has_one(replay):
    def process(settings, chance):
        return 0.5 if settings.num_workers and chance.random() < 0.4 else 1.0

    def workers(settings):
        return 900.0 if settings.num_workers else 100.0

    session = replay(workers, process=process, budget_s=900, in_memory=True)
    found = session.studied()
    assert found.proof.found_better
    (said,) = (d for d in doubts_of(found, session.lab.folder) if d.name == "two-modes")
    assert said.sentence.startswith("the winner runs at about 90")


@pytest.mark.parametrize(
    ("n_rounds", "speedup", "part"),
    [
        (0, 1.0, "no time to prove anything"),
        (1, 1.4, "only 1 round fitted"),
        (3, 1.4, "that trial 7 is faster (1.40x)"),
        (3, 0.9, None),
        (4, 1.4, None),
    ],
)
def test_few_rounds_are_told_only_where_something_looks_faster(n_rounds, speedup, part):
    doubt = doubts.few_rounds(n_rounds, "trial 7", speedup, LONGER)
    assert (doubt is None) is (part is None)
    if doubt:
        assert part in doubt.sentence and "resume=outputs/mine/1 " in doubt.advice


@pytest.mark.parametrize(
    ("n_rounds", "speedup", "told"), [(2, 1.4, True), (40, 1.04, True), (40, 1.01, False)]
)
def test_a_proof_that_its_limit_ended_names_the_limit(n_rounds, speedup, told):
    doubt = doubts.few_rounds(n_rounds, "trial 7", speedup, LONGER, capped=True)
    assert (doubt is not None) is told
    if doubt:
        said = f"the {n_rounds} rounds that confirm.max_rounds allows did not prove that trial 7"
        assert said in doubt.sentence
        assert "confirm.max_rounds ended the proof" in doubt.cause


def test_every_doubt_has_a_name_of_its_own():
    public = [name for name in doubts.__all__ if name[0].islower() and name != "of_trials"]
    assert sorted(name.replace("_", "-") for name in public) == [
        "baseline-drift",
        "clocks-throttled",
        "epoch-start-unknown",
        "few-rounds",
        "gpu-shared",
        "gpu-unwatched",
        "machine-busy",
        "much-left-out",
        "not-settled",
        "short-dataset",
        "two-modes",
        "wide-interval",
        "window-too-short",
    ]
