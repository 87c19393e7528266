"""Near hits: settings of similar workloads are the first trials of a search."""

from dataclasses import replace

import pytest
from banked import DATE, ELSEWHERE, FACTS, LARGER, LATER, entries, goal_of, kinds, origin_of
from replay import EXPERT, KNOBS

from hotlap.settings import Settings
from studies import Bank


@pytest.mark.parametrize("facts", [LARGER, ELSEWHERE])
def test_a_near_hit_is_tried_first_after_baseline_and_expert(study, folder, facts):
    winner = study(facts=facts).studied()[0].proof.winner.settings
    second = study()
    found, outcome = second.studied()
    assert found.again is None and outcome == ["added"]
    tried = [t for t in second.session.seen.trials if t.kind == "search"]
    assert tried[0].settings == winner
    assert kinds(second)[:2] == ["baseline", "expert"]
    assert len(entries(folder)) == 2
    assert any("similar" in note for note in second.session.seen.notes)


@pytest.mark.parametrize(
    ("machine", "plan"), [({"window_s": 60.0, "budget_s": 240}, {}), ({}, {"n_trials": 2})]
)
def test_near_hits_are_not_said_to_start_a_search_that_there_is_not(study, machine, plan):
    study(facts=LARGER).studied()
    second = study(**machine)
    assert second.reuse.known.near
    second.studied(**plan)
    assert "search" not in kinds(second)
    assert not any("similar" in note for note in second.session.seen.notes)


def test_the_nearest_three_start_the_search_within_its_space(study, folder):
    session = study().session
    goal = goal_of(session)
    bank = Bank(folder, lambda text: None)
    for i, workers in enumerate((1, 2, 4, 3)):
        facts = {**LARGER, "model_digest": f"{i}", "n_parameters": 1000 * 2**i}
        settings = Settings(num_workers=workers, amp="bf16")  # amp is no knob of theirs
        bank.store(settings, origin_of(goal, facts), lambda old: False)
    known = study().reuse.known
    assert [settings.num_workers for settings in known.start()] == [1, 2, 4]
    assert {settings.amp for settings in known.near} == {"none"}
    assert known.sentence.endswith("; 3 settings of similar ones start the search")
    one = replace(known, near=known.near[:1])
    assert one.sentence.endswith("; one settings value of a similar one starts the search")


def test_what_is_tried_anyway_takes_no_near_hits_place(study, folder):
    goal = goal_of(study().session)
    bank = Bank(folder, lambda text: None)
    tuned = [
        Settings(amp="bf16"),  # the baseline, in a space without this knob
        EXPERT,
        *(Settings(num_workers=workers) for workers in (1, 2, 4)),
    ]
    for i, settings in enumerate(tuned):
        facts = {**LARGER, "model_digest": f"{i}", "n_parameters": 1000 * 2**i}
        bank.store(settings, origin_of(goal, facts), lambda old: False)
    second = study()
    assert [settings.num_workers for settings in second.reuse.known.start()] == [1, 2, 4]
    second.studied()
    tried = [t.settings.num_workers for t in second.session.seen.trials if t.kind == "search"]
    assert tried[:3] == [1, 2, 4]


def test_the_hit_comes_before_newer_entries_of_other_goals(study, folder):
    session = study().session
    bank = Bank(folder, lambda text: None)
    for workers, limits, date in ((2, {}, DATE), (1, {"x": 0.5}, LATER), (4, {"x": 0.7}, LATER)):
        origin = origin_of(goal_of(session, limits=limits), FACTS, date=date)
        bank.store(Settings(num_workers=workers), origin, lambda old: False)
    known = study().reuse.known
    assert known.hit is not None and known.hit.settings == Settings(num_workers=2)
    assert known.start()[0] == Settings(num_workers=2) and len(known.start()) == 3
    assert Settings(num_workers=2) not in known.start(failed=True)


def test_a_hit_that_has_failed_takes_no_near_hits_place(study, folder):
    goal = goal_of(study().session)
    bank = Bank(folder, lambda text: None)
    bank.store(Settings(num_workers=4), origin_of(goal), lambda old: False)
    for i, workers in enumerate((1, 2)):
        facts = {**LARGER, "model_digest": f"{i}", "n_parameters": 1000 * 2**i}
        bank.store(Settings(num_workers=workers), origin_of(goal, facts), lambda old: False)
    bank.store(
        Settings(memory_format="channels_last"), origin_of(goal, ELSEWHERE), lambda old: False
    )
    known = study().reuse.known
    assert known.hit is not None and len(known.start()) == 3
    assert known.hit.settings in known.start()
    assert len(known.start(failed=True)) == 3 and known.hit.settings not in known.start(failed=True)


def test_another_kind_of_workload_tells_nothing(study):
    study(facts={**LARGER, "conv2d": True}).studied()
    known = study().reuse.known
    assert known.hit is None and known.near == () and known.sentence == ""


def test_what_compiles_elsewhere_is_tried_without_it_first_and_as_a_whole_in_its_turn(
    study, folder
):
    modes = {"compile_mode": {"choices": ["none", "default"]}}
    compiling = {"knobs": {**KNOBS, **modes}, "budget_s": 600}
    compiling["compile_s"] = lambda s: 100.0 if s.compile_mode == "default" else 0.0
    goal = goal_of(study(**compiling).session)
    bank = Bank(folder, lambda text: None)
    for i, workers in enumerate((1, 4)):
        facts = {**LARGER, "model_digest": f"{i}", "n_parameters": 1000 * 2**i}
        settings = Settings(num_workers=workers, compile_mode="default")
        bank.store(settings, origin_of(goal, facts, compile_s=100.0), lambda old: False)
    second = study(**compiling)
    second.studied()
    ran = second.session.runner.ran
    first = next(i for i, settings in enumerate(ran) if settings.compile_mode == "default")
    assert first >= 5
    tried = [t.settings for t in second.session.seen.trials if t.kind == "search"]
    assert tried[:2] == [Settings(num_workers=1), Settings(num_workers=4)]
    assert ran[first] == Settings(num_workers=1, compile_mode="default")
