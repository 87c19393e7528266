"""A budget too short for a search goes to the one comparison that it can afford, and says so."""

from dataclasses import replace

import pytest
from replay import BASE, EXPERT
from simulated import Clock, SimulatedRunner, Watching
from test_search import rate

from hotlap.job import Job, Window
from objectives import Throughput
from reports import result_of
from reports.sentences import sentences
from studies import Lab, doubts_of
from studies.prover import LEFT_OUT, LIKELIEST

MINUTE = {"window_s": 60.0, "process_noise": 0.01}
"""Trials of 64 s."""


def ran(session):
    return [(t.kind, t.settings.key()) for t in session.seen.trials]


@pytest.mark.parametrize(("budget_s", "n_trials"), [(150, 1), (240, 2), (330, 4)])
def test_what_is_left_goes_to_baseline_and_expert(replay, budget_s, n_trials):
    session = replay(rate, budget_s=budget_s, **MINUTE)
    found = session.studied()
    first, *rest = ran(session)
    assert first == ("baseline", BASE.key())
    assert {kind for kind, _ in rest} == {"confirm"} and len(rest) == n_trials
    assert ("confirm", EXPERT.key()) in rest
    assert budget_s - session.budget.spent() < 64 + 4
    (said,) = [note for note in session.seen.notes if "one comparison" in note]
    assert said.endswith("baseline and expert")
    assert {"expert", "noise", "search", "ablate"}.isdisjoint(session.seen.notes)
    (expert,) = found.proof.arms[1:]
    assert expert.ratios(found.proof.baseline)[0] == pytest.approx(3, rel=0.1)
    assert not found.proof.uncompared
    if not found.proof.found_better:  # two rounds of so large a gain prove it
        assert "few-rounds" in [doubt.name for doubt in doubts_of(found, session.lab.folder)]


def test_without_an_expert_of_its_own_it_is_the_likeliest_change(replay):
    session = replay(rate, budget_s=240, **MINUTE)
    found = session.studied(expert=BASE)
    assert [arm.name for arm in found.proof.arms] == ["baseline", LIKELIEST]
    assert len(found.proof.arms[1].settings.changed()) == 1


def test_with_time_for_nothing_else_that_is_what_is_said(replay):
    session = replay(rate, budget_s=120, **MINUTE)
    found = session.studied()
    assert [kind for kind, _ in ran(session)] == ["baseline"]
    assert found.proof.uncompared == "there was no time to measure anything beside the baseline"
    assert session.seen.notes[0] == "baseline" and "confirm" not in session.seen.notes


@pytest.mark.parametrize(("budget_s", "proven"), [(300, False), (4000, True)])
def test_an_expert_that_ran_out_of_time_is_proven_only_where_there_is_time(
    replay, budget_s, proven
):
    session = replay(
        rate,
        budget_s=budget_s,
        process_noise=0.01,
        fails=lambda s: "hang" if s.key() == EXPERT.key() else "",
    )
    session.studied()
    assert (("confirm", EXPERT.key()) in ran(session)) is proven
    assert any(LEFT_OUT in note for note in session.seen.notes) is not proven


def test_where_it_took_all_the_time_of_the_search_the_likeliest_change_takes_its_place(replay):
    session = replay(rate, budget_s=120, fails=lambda s: "hang" if s.key() == EXPERT.key() else "")
    session.clock.now = 20  # the probe
    found = session.studied()
    assert session.search.ran_out(EXPERT)
    assert [arm.name for arm in found.proof.arms] == ["baseline", LIKELIEST]
    assert found.proof.arms[1].ratios(found.proof.baseline)


def test_a_stage_in_which_nothing_runs_is_not_announced(tmp_path):
    seen = Watching()
    runner = SimulatedRunner(Clock(), lambda settings: 100.0)
    lab = Lab(runner, Job("simulated.workload", window=Window()), tmp_path, Throughput(), seen)
    lab.stage("noise")
    lab.stage("search", "40 settings")
    assert seen.notes == []
    lab.measure("search", BASE, 100)
    lab.measure("search", EXPERT, 100)
    assert seen.notes == ["search"]


@pytest.mark.parametrize("budget_s", [70, 600])
def test_with_nothing_to_try_nothing_is_blamed_on_the_time(replay, budget_s):
    session = replay(rate, knobs={}, budget_s=budget_s, **MINUTE)
    found = session.studied(expert=BASE)
    assert not found.would_do and not any("too short" in note for note in session.seen.notes)
    assert "few-rounds" not in [doubt.name for doubt in doubts_of(found, session.lab.folder)]
    result = result_of(
        found, BASE, "throughput", workload="w", study="s", folder=session.lab.folder
    )
    assert "paired" not in result.noise
    said = sentences(result)
    assert "Expert: the same as the baseline here." in said and list(result.arms) == ["baseline"]


def test_no_more_settings_are_to_be_tried_than_there_are(replay):
    few = {"pin_memory": {"choices": [False, True]}}
    session = replay(rate, knobs=few, budget_s=150, **MINUTE)
    session.studied(expert=BASE)
    assert any("too short to try 1 setting and to prove it" in n for n in session.seen.notes)


def test_an_expert_that_had_no_time_in_the_proof_is_told_with_what_the_search_saw(replay):
    session = replay(rate, budget_s=900, process_noise=0.01)
    found = session.studied()
    others = [arm for arm in found.proof.arms if arm.settings.key() != EXPERT.key()]
    assert found.expert_searched == pytest.approx(3, rel=0.1)
    left_out = replace(found, proof=replace(found.proof, arms=others))
    more = {"workload": "w", "study": "s", "folder": session.lab.folder}
    result = result_of(left_out, EXPERT, "throughput", **more)
    seen = f"{found.expert_searched:.2f}x"
    assert f"The expert's settings ({seen} in the search) had no time in the proof." in sentences(
        result
    )
    assert result.expert is None
