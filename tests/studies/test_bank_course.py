"""Studies with a bank, on a virtual clock: a hit is proven again, and trusted only then."""

import pytest
from banked import ELSEWHERE, FACTS, LARGER, Banked, goal_of, origin_of
from replay import BASE
from test_course import Gate, made
from test_search import rate

from hotlap.settings import Settings
from studies import Bank, offer

LATER = "2026-12-24T10:00:00+00:00"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "bank"


@pytest.fixture
def study(replay, folder, tmp_path):
    """Opens a new study on the bank; each has a folder of its own."""
    numbers = iter(range(99))

    def opened(rate=rate, facts=FACTS, **options):
        own = {"budget_s": 900, "process_noise": 0.01, "seed": next(numbers), **options}
        session = replay(rate, tmp_path / f"study {own['seed']}", **own)
        return Banked(session, folder, facts)

    return opened


def entries(folder):
    return Bank(folder, lambda text: None).entries()


def kinds(banked):
    return [trial.kind for trial in banked.session.seen.trials]


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


def test_a_hit_has_to_learn_what_the_baseline_learns(study, folder):
    winner = study().studied()[0].proof.winner.settings
    second = study()
    gate = Gate(lambda s: "its loss is nan" if s.key() == winner.key() else "")
    found, outcome = second.studied(make_gate=made(gate), n_best=4)
    assert found.again is False and gate.asked[0] == winner
    assert found.refused[0] == ("bank", "its loss is nan")
    assert found.proof.winner.settings.key() != winner.key()
    assert outcome == ["updated"]
    assert winner.key() not in {entry.settings.key() for entry in entries(folder)}


def other(settings):
    """A machine of the same kind on which workers are in the way by now."""
    workers = 0.5 if settings.num_workers else 1.0
    return 100 * workers * (1.5 if settings.memory_format == "channels_last" else 1.0)


def test_a_hit_that_no_longer_proves_itself_is_replaced_by_the_search_that_follows(study, folder):
    study().studied()
    second = study(other)
    found, outcome = second.studied(date=LATER)
    assert outcome == ["updated"] and found.again is False
    assert found.proof.winner.settings.changed() == {"memory_format": "channels_last"}
    assert "search" in kinds(second) and "expert" in kinds(second)
    (entry,) = entries(folder)
    assert entry.settings == found.proof.winner.settings and entry.date == LATER
    assert any("do not prove themselves again" in note for note in second.session.seen.notes)
    assert second.session.budget.spent() <= 900


def test_a_hit_that_brings_much_less_than_it_promised_is_searched_for_anew(study, folder):
    study().studied()  # 3.6x
    found, outcome = study(lambda s: 100 * (rate(s) / 100) ** 0.2).studied(date=LATER)
    assert found.again is False and outcome == ["updated"]
    (entry,) = entries(folder)
    assert entry.speedup < 1.5 and entry.date == LATER


def test_where_nothing_is_better_any_more_the_entry_is_offered_to_nobody(study, folder):
    study().studied()
    assert offer(folder, "job", FACTS)
    second = study(lambda s: 100.0 if s.key() == BASE.key() else 50.0)
    found, outcome = second.studied(date=LATER)
    assert outcome == ["unsatisfied"] and not found.proof.found_better
    (entry,) = entries(folder)
    assert entry.refuted and not offer(folder, "job", FACTS)
    third = study()
    assert third.reuse.known.hit is None and third.reuse.known.near == (entry.settings,)
    assert third.studied()[1] == ["updated"]
    assert offer(folder, "job", FACTS)


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


def test_the_nearest_three_start_the_search_within_its_space(study, folder):
    session = study().session
    goal = goal_of(session)
    bank = Bank(folder, lambda text: None)
    for i, workers in enumerate((1, 2, 4, 3)):
        facts = {**LARGER, "model_digest": f"{i}", "n_parameters": 1000 * 2**i}
        settings = Settings(num_workers=workers, amp="bf16")  # amp is no knob of theirs
        bank.store(settings, origin_of(goal, facts), lambda old: False)
    near = study().reuse.known.near
    assert [settings.num_workers for settings in near] == [1, 2, 4]
    assert {settings.amp for settings in near} == {"none"}


def test_another_kind_of_workload_tells_nothing(study):
    study(facts={**LARGER, "conv2d": True}).studied()
    known = study().reuse.known
    assert known.hit is None and known.near == () and known.sentence == ""


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


def test_a_study_that_goes_on_searches(study, replay, tmp_path, folder):
    study().studied()
    study().studied()  # study 1 ended with the hit
    session = replay(rate, tmp_path / "study 1", budget_s=1800, process_noise=0.01, seed=5)
    resumed = Banked(session, folder, goal=goal_of(session, budget_s=900))
    assert resumed.reuse.known.hit is not None
    found, _ = resumed.studied()
    assert found.again is None and "search" in kinds(resumed)


def test_a_sampler_that_is_to_do_what_it_says_gets_nothing_of_the_bank(study):
    study().studied()
    second = study()
    found, outcome = second.studied(guided=False)
    assert found.again is None and "search" in kinds(second) and outcome == ["kept"]


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
