"""What the report says of a study is so, however little the study could do."""

import io
from dataclasses import replace

import pytest
from replay import BASE, EXPERT
from test_course import Gate, made
from test_search import rate

from reports.contributions import ALONE, CAPTION
from reports.of_study import result_of
from reports.screen import Screen
from reports.sentences import sentences
from reports.table import markdown, print_result
from studies import doubts_of
from studies.arm import Arm
from studies.rounds import Rounds

NAN = "its loss is nan"


def reported(session, found, expert=EXPERT):
    own = {"workload": "w", "study": "s", "folder": session.lab.folder}
    return result_of(found, expert, "throughput", n_outcomes=session.search.n_outcomes(), **own)


def refusing(settings):
    return made(Gate(lambda other: NAN if other.key() == settings.key() else ""))


@pytest.mark.parametrize(
    ("probe_s", "window_s", "n_trials"),
    [(0.0, 4.0, 1), (200.0, 36.0, None)],
    ids=["one trial is asked for", "one trial has time"],
)
def test_where_the_expert_alone_was_to_be_proven_and_is_refused_that_is_what_is_said(
    replay, probe_s, window_s, n_trials
):
    session = replay(rate, budget_s=600, window_s=window_s, process_noise=0.01)
    session.clock.now = probe_s
    stages = {}
    session.seen.stage = lambda name, detail="": stages.update({name: detail})
    found = session.studied(n_trials=n_trials, make_gate=refusing(EXPERT))
    result = reported(session, found)
    assert stages["confirm"] == "the baseline alone"
    assert found.refused == [("expert", NAN)] and result.n_outcomes == {"ok": 1}
    said = sentences(result)
    assert said[0] == "Nothing better than the default may be frozen, so the default is frozen."
    assert not any("expert" in sentence for sentence in said)  # the refusal stands for itself


def test_where_no_more_than_the_baseline_was_asked_for_nothing_else_is_said_to_be_lacking(replay):
    session = replay(rate, budget_s=600, process_noise=0.01)
    found = session.studied(expert=BASE, n_trials=1)
    said = sentences(reported(session, found, BASE))
    assert said[0] == "Nothing was tried but the default, so the default is frozen."


def test_what_was_fast_in_the_search_and_refused_is_not_said_not_to_have_been_found(replay):
    session = replay(rate, budget_s=900, process_noise=0.01)
    found = session.studied(make_gate=made(Gate(lambda settings: NAN)))
    assert len(found.refused) >= 2
    said = sentences(reported(session, found))
    assert said[0] == "Nothing better than the default may be frozen, so the default is frozen."


def test_what_the_only_setting_brings_is_said_to_come_from_the_proof(replay, tmp_path):
    def told(session, **options):
        result = reported(session, session.studied(**options))
        screen = Screen(width=120, force_terminal=False, file=io.StringIO())
        print_result(result, screen)
        return screen.file.getvalue(), markdown(result)

    knobs = {"num_workers": {"choices": [0, 2]}}
    own = {"budget_s": 600, "process_noise": 0.01}
    for text in told(replay(rate, knobs=knobs, **own), expert=BASE):
        assert ALONE in text and CAPTION not in text
    several = replay(rate, tmp_path / "several", **{**own, "budget_s": 900})
    for text in told(several):
        assert CAPTION in text and ALONE not in text


@pytest.mark.parametrize("left_s", [0.0, 5.0], ids=["not begun", "cut off"])
def test_an_expert_that_the_only_round_had_no_time_for_is_told(replay, left_s):
    session = replay(rate, budget_s=900, process_noise=0.01)
    found = session.studied()
    baseline, *others = (arm for arm in found.proof.arms if arm.settings.key() != EXPERT.key())
    expert = Arm("expert", EXPERT)
    Rounds(session.lab, "confirm", lambda: left_s, 1).measure(expert, 0, baseline)
    assert others and len(expert.trials) == bool(left_s)
    late = replace(found, proof=replace(found.proof, arms=[baseline, *others], failed=(expert,)))
    seen = f"{found.expert_searched:.2f}x"
    said = f"The expert's settings ({seen} in the search) had no time in the proof."
    assert said in sentences(reported(session, late))
    expert.reasons.append("crash in round 1: it ended")  # of which a doubt tells
    assert not reported(session, late).no_expert


def test_so_is_the_searchs_best(replay):
    session = replay(rate, budget_s=900, process_noise=0.01)
    found = session.studied()
    baseline, *others = found.proof.arms
    best = Arm("trial 7 with less", others[0].settings)
    late = replace(found, proof=replace(found.proof, arms=[baseline, *others[1:]], failed=(best,)))
    assert reported(session, late).late == ("Trial 7 with less had no time in the proof.",)
    best.reasons.append(NAN)
    assert not reported(session, late).late


def test_where_all_were_refused_no_time_is_blamed_for_what_was_not_proven(replay):
    """Nor where the refusing has taken all of it."""
    session = replay(rate, budget_s=600, window_s=36.0)
    session.clock.now = 200

    def refuses(settings):
        session.clock.now += 600
        return NAN

    found = session.studied(make_gate=made(Gate(refuses)))
    assert found.refused and not found.proof.n_rounds
    assert "few-rounds" not in [doubt.name for doubt in doubts_of(found, session.lab.folder)]


def test_of_an_arm_that_fails_in_a_later_round_that_trials_log_is_named(replay):
    seen, trials = [], []

    def fails(settings):
        trials.extend([settings] * (settings == EXPERT and "confirm" in seen[0].notes))
        return "crash" if settings == EXPERT and len(trials) == 2 else ""

    session = replay(rate, budget_s=900, process_noise=0.01, fails=fails)
    seen.append(session.seen)
    found = session.studied()
    (failed,) = (t for t in session.seen.trials if t.run.outcome == "crash")
    (doubt,) = (d for d in doubts_of(found, session.lab.folder) if d.name == "could-not-win")
    assert "crash in round 2" in doubt.sentence
    assert doubt.advice == f"that trial's log: trials/{failed.number:04d}/worker.log"
