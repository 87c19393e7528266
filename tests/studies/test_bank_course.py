"""Studies with a bank, on a virtual clock: a hit is proven again, and trusted only then."""

import pytest
from banked import ELSEWHERE, FACTS, LATER, Banked, entries, goal_of, kinds
from test_search import rate

from studies import offer


def test_the_second_study_proves_the_first_ones_winner_again_by_the_confirm_stage_alone(
    study, folder
):
    first = study()
    before, outcome = first.studied()
    assert outcome == ["added"]
    second = study()
    after, outcome = second.studied(date=LATER)
    assert outcome == ["hit"] and after.again is True
    assert after.proof.found_better
    assert after.proof.winner.settings == before.proof.winner.settings
    assert kinds(second)[0] == "baseline" and set(kinds(second)[1:]) == {"confirm"}
    arms = {trial.settings.key() for trial in second.session.seen.trials}
    assert len(arms) == 3  # baseline, hit, expert
    assert second.session.budget.spent() < 180 < first.session.budget.spent()
    (entry,) = entries(folder)
    assert entry.date < LATER


def test_a_hit_that_nobody_has_taken_apart_is_not_said_to_pay_setting_by_setting(study):
    before, _ = study(process_noise=0.001).studied(max_rounds=2)
    assert not before.contributions and before.together
    after, outcome = study().studied(date=LATER)
    assert outcome == ["hit"] and after.proof.winner.settings == before.proof.winner.settings
    assert after.together == before.together


def test_other_limits_are_another_goal(study, folder):
    study().studied()
    tight = study()
    goal = goal_of(tight.session, limits={"device_memory": 0.5})
    second = Banked(tight.session, folder, goal=goal)
    assert second.reuse.known.hit is None and second.reuse.known.near
    assert second.studied()[1] == ["added"]
    assert len(entries(folder)) == 2


def test_a_longer_study_searches_from_the_entry_on_and_keeps_it_if_it_is_as_good(study, folder):
    winner = study(budget_s=600).studied()[0].proof.winner.settings
    second = study(budget_s=1800)
    assert second.reuse.known.hit is None
    found, outcome = second.studied(date=LATER)
    assert found.proof.winner.settings == winner and outcome == ["kept"]
    (entry,) = entries(folder)
    assert entry.goal.budget_s == 1800 and entry.settings == winner
    assert study(budget_s=1800).reuse.known.hit is not None


def test_an_entry_outside_of_the_space_is_no_hit(study):
    study().studied()
    knobs = {"memory_format": {"choices": ["contiguous", "channels_last"]}}
    known = study(knobs=knobs).reuse.known
    assert known.hit is None
    assert [s.changed() for s in known.near] == [{"memory_format": "channels_last"}]


@pytest.mark.usefixtures("on_disk")
def test_a_study_that_goes_on_searches(study, replay, tmp_path, folder):
    study().studied()
    study(in_memory=False).studied()  # study 1 ended with the hit
    session = replay(rate, tmp_path / "study 1", budget_s=1800, process_noise=0.01, seed=5)
    resumed = Banked(session, folder, goal=goal_of(session, budget_s=900))
    assert resumed.reuse.known.hit is not None
    found, _ = resumed.studied()
    assert found.again is None and "search" in kinds(resumed)


def test_a_sampler_that_is_to_do_what_it_says_gets_nothing_of_the_bank(study):
    study().studied()
    second = study()
    found, outcome = second.studied(guided=False)
    assert found.again is None and "search" in kinds(second) and outcome in (["kept"], ["updated"])


@pytest.mark.parametrize("budget_s", [20, 60])
def test_a_small_budget_is_kept_with_a_hit_too(study, budget_s):
    study(budget_s=900).studied()
    second = study(budget_s=budget_s)
    second.studied()
    assert second.session.budget.spent() <= budget_s


def test_without_a_bank_or_a_fingerprint_nothing_is_counted(replay, folder):
    session = replay(rate, budget_s=300)
    assert Banked(session, None).reuse.known.near == ()
    bare = Banked(session, folder, facts={"cores": 2})
    assert bare.studied()[1] == [] and not folder.exists()


def test_a_bank_that_cannot_be_written_is_told_and_the_study_goes_on(replay, tmp_path):
    (tmp_path / "file").write_text("")
    banked = Banked(replay(rate, budget_s=900), tmp_path / "file" / "bank")
    found, outcome = banked.studied()
    assert found.proof.found_better and outcome == []
    told = [note for note in banked.session.seen.notes if "cannot be written" in note]
    assert len(told) == 1


def test_an_offer_is_for_this_job_on_this_machine(study, folder):
    winner = study().studied()[0].proof.winner
    sentence = offer(folder, "job", FACTS)
    (entry,) = entries(folder)
    assert sentence == (
        "the bank has settings for this workload on this machine, proven "
        f"{entry.speedup:.2f}x on 2026-11-30: settings={entry.path}"
    )
    assert entry.settings == winner.settings
    assert not offer(folder, "another", FACTS) and not offer(folder, "job", ELSEWHERE)
    assert not offer(folder, "", FACTS) and not offer(None, "job", FACTS)
