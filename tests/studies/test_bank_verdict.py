"""What a study's rounds say of the bank's settings: proven again, refuted, or not known."""

from dataclasses import replace

import pytest
from banked import (
    ELSEWHERE,
    FACTS,
    LATER,
    crashing,
    entries,
    goal_of,
    kept,
    kinds,
    origin_of,
    other,
)
from replay import BASE, EXPERT
from test_course import Gate, made
from test_freezing import arm, rates, session
from test_search import rate

from hotlap.settings import Settings
from studies import Bank, doubts_of, offer
from studies.gate import NO_BASELINE, UNKNOWN
from studies.rounds import ENOUGH_ROUNDS

TWO, FOUR = Settings(num_workers=2), Settings(num_workers=4)
MORE = replace(EXPERT, memory_format="channels_last")


@pytest.fixture
def stored(study, folder):
    """Puts settings into the bank, as a study would that is like those of the test."""

    def store(settings, speedup):
        origin = origin_of(goal_of(study().session), speedup=speedup)
        Bank(folder, lambda text: None).store(settings, origin, lambda old: False)

    return store


def test_a_hit_has_to_learn_what_the_baseline_learns(study, folder):
    winner = study().studied()[0].proof.winner.settings
    second = study()
    gate = Gate(lambda s: "its loss is nan" if s.key() == winner.key() else "")
    found, outcome = second.studied(make_gate=made(gate), n_best=4)
    assert found.again is False and gate.asked[0] == winner
    assert [why for _, why in found.refused] == ["its loss is nan"]
    assert found.proof.winner.settings.key() != winner.key()
    assert outcome == ["updated"]
    assert winner.key() not in {entry.settings.key() for entry in entries(folder)}


@pytest.fixture
def beside_the_expert(stored, study):
    """Opens a study whose hit has one setting more than the expert, which brings nothing."""
    stored(MORE, speedup=2.0)
    return study(lambda settings: 300.0 if settings.num_workers else 100.0)


def test_a_hit_has_to_learn_the_same_also_where_the_expert_wins_its_rounds(beside_the_expert):
    gate = Gate(lambda s: "its loss is nan" if s.key() == MORE.key() else "")
    found, _ = beside_the_expert.studied(date=LATER, make_gate=made(gate))
    assert found.again is False and gate.asked[0] == MORE
    assert "its loss is nan" in [why for _, why in found.refused]


def test_what_is_not_known_of_the_expert_is_not_said_of_a_hit_that_is_as_good(beside_the_expert):
    unknown = f"{UNKNOWN}there was no time left"
    gate = Gate(lambda settings: unknown if settings.key() == EXPERT.key() else "")
    found, outcome = beside_the_expert.studied(date=LATER, make_gate=made(gate))
    assert found.proof.winner.settings == EXPERT and found.unchecked == unknown
    assert found.again is True and outcome == ["hit"] and gate.asked == [MORE, EXPERT]


def test_an_expert_that_is_ahead_and_refused_is_in_no_hits_way(stored, study):
    stored(TWO, speedup=2.0)
    second = study(lambda s: 215.0 if s.pin_memory else 200.0 if s.num_workers else 100.0)
    gate = Gate(lambda s: "its loss is nan" if s.key() == EXPERT.key() else "")
    found, outcome = second.studied(date=LATER, make_gate=made(gate))
    assert found.again is True and outcome == ["hit"]
    assert found.proof.winner.settings == TWO and found.refused == [("expert", "its loss is nan")]


class LateOnce(Gate):
    """Has no time for the first one that it is asked for, who has to be known."""

    def __init__(self):
        super().__init__(lambda settings: "", strict=True)

    def __call__(self, settings, timeout_s):
        super().__call__(settings, timeout_s)
        return f"{UNKNOWN}there was no time left" if len(self.asked) == 1 else ""


def test_what_is_frozen_in_the_end_is_not_told_as_refused_for_the_banks_rounds(study):
    winner = study().studied()[0].proof.winner.settings
    second = study()
    found, _ = second.studied(date=LATER, make_gate=made(LateOnce()))
    assert any("bank is refused: its numerics" in note for note in second.session.seen.notes)
    assert found.again is None and found.proof.winner.settings == winner
    assert found.refused == []


def test_an_expert_that_both_proofs_refuse_is_told_once(stored, study):
    stored(TWO, speedup=2.0)
    second = study(lambda s: 300.0 if s.pin_memory else 150.0 if s.num_workers else 100.0)
    gate = Gate(lambda s: "its loss is nan" if s.key() == EXPERT.key() else "")
    found, _ = second.studied(date=LATER, make_gate=made(gate))
    refusals = [note for note in second.session.seen.notes if "is refused" in note]
    assert found.again is not True and len(refusals) == 2
    assert [why for _, why in found.refused] == ["its loss is nan"]


def test_what_no_later_proof_speaks_of_stays_refused(stored, study):
    """The hit has failed, so the search does not begin with it, and three trials do not find it."""
    hit = Settings(num_workers=4, prefetch_factor=8, pin_memory=True)
    stored(hit, speedup=2.0)
    second = study()
    gate = Gate(lambda s: "its loss is nan" if s.key() == hit.key() else "")
    found, _ = second.studied(date=LATER, make_gate=made(gate), n_trials=3)
    assert found.again is False and found.proof.arm_of(hit) is None
    assert found.refused == [("bank", "its loss is nan")]


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


def test_a_hit_that_crashes_is_replaced_by_what_does_not(study, folder):
    study().studied()  # 3.6x, with workers
    second = study(fails=crashing)
    found, outcome = second.studied(date=LATER)
    assert found.again is False and outcome == ["updated"]
    assert any("do not prove themselves again (crash" in note for note in second.session.seen.notes)
    (entry,) = entries(folder)
    assert entry.settings.changed() == {"memory_format": "channels_last"}
    assert entry.date == LATER and not entry.refuted


def test_a_hit_that_crashes_is_refuted_where_nothing_else_is_better(study, folder):
    study().studied()
    second = study(lambda s: min(rate(s), 100.0), fails=crashing)
    found, outcome = second.studied(date=LATER)
    assert found.again is False and outcome == ["unsatisfied"]
    (entry,) = entries(folder)
    assert entry.refuted and not offer(folder, "job", FACTS)


def test_an_entry_that_crashes_among_the_last_arms_is_not_kept_for_its_promise(stored, study):
    """A longer study has no hit, and tries the entry as any other settings."""
    stored(TWO, speedup=3.0)
    second = study(budget_s=1900)
    assert second.reuse.known.hit is None
    broken = arm("trial 2", TWO, (), ["crash in round 1: SIGSEGV"])
    proof = session(arm("trial 7", FOUR, rates(150)), failed=(broken,))
    assert kept(second, proof) == "updated"


def test_a_lucky_figure_of_few_rounds_replaces_nothing(stored, study, folder):
    stored(TWO, speedup=2.0)
    lucky = session(arm("trial 7", FOUR, [230, 262, 300]), n_rounds=3)
    assert lucky.found_better and lucky.winner.speedup(lucky.baseline).value > 2.5
    assert kept(study(), lucky) == "kept" and entries(folder)[0].settings == TWO
    beside = [arm("trial 7", FOUR, [230, 262, 300]), arm("trial 2", TWO, [198, 202, 200])]
    assert kept(study(), session(*beside, n_rounds=3)) == "kept"
    assert kept(study(), session(arm("trial 7", FOUR, rates(250)))) == "updated"
    assert entries(folder)[0].settings == FOUR


def test_a_session_that_goes_on_refutes_a_hit_by_its_last_rounds(stored, study, folder):
    """The hit had its try in the first session, so only the last rounds tell of it."""
    stored(TWO, speedup=2.0)
    second = study()
    assert second.reuse.known.hit is not None
    few = session(arm("trial 3", TWO, rates(100, 3)), n_rounds=3)
    assert kept(second, few) == "unsatisfied" and not entries(folder)[0].refuted
    assert kept(second, session(arm("trial 3", TWO, rates(100)))) == "unsatisfied"
    assert entries(folder)[0].refuted


def test_where_nothing_is_better_any_more_the_entry_is_offered_to_nobody(study, folder):
    study().studied()
    assert offer(folder, "job", FACTS)
    second = study(lambda s: 100.0 if s.key() == BASE.key() else 50.0)
    found, outcome = second.studied(date=LATER)
    assert outcome == ["unsatisfied"] and not found.proof.found_better
    (entry,) = entries(folder)
    assert entry.refuted and not offer(folder, "job", FACTS)
    third = study()
    assert third.reuse.known.hit is None and third.reuse.known.near == ()
    assert study(facts=ELSEWHERE).reuse.known.near == ()
    assert third.studied()[1] == ["updated"]
    assert offer(folder, "job", FACTS)


def test_of_two_studies_that_refute_one_entry_the_first_ones_winner_stays(study, folder):
    study().studied()
    one, two = study(other), study(other)  # both have looked into the bank
    assert one.studied(date=LATER)[1] == ["updated"]
    (after,) = entries(folder)
    found, outcome = two.studied(date="2026-12-25T10:00:00+00:00")
    assert found.again is False and outcome == ["kept"]
    assert entries(folder) == [after] and not after.refuted


@pytest.mark.parametrize("max_rounds", [1, 2])
def test_a_proof_of_few_rounds_changes_nothing_in_the_bank(study, folder, max_rounds):
    study().studied()
    (before,) = entries(folder)
    second = study(process_noise=0.1)
    found, _ = second.studied(date=LATER, max_rounds=max_rounds)
    assert found.again is None
    assert any("neither proven again nor refuted" in note for note in second.session.seen.notes)
    assert entries(folder) == [before] and offer(folder, "job", FACTS)


@pytest.mark.parametrize("budget_s", [60, 120])
def test_a_short_budget_changes_nothing_in_the_bank(study, folder, budget_s):
    study().studied()
    (before,) = entries(folder)
    for _ in range(4):
        second = study(budget_s=budget_s, process_noise=0.15)
        found, _ = second.studied(date=LATER)
        assert found.again is not False
        assert entries(folder) == [before]


def test_an_interval_that_still_holds_the_promise_refutes_nothing(stored, study, folder):
    stored(TWO, speedup=1.15)
    second = study(lambda s: 105.0 if s.num_workers == 2 else 100.0, process_noise=0.1)
    found, outcome = second.studied(date=LATER)
    (said,) = [note for note in second.session.seen.notes if "the bank's settings" in note]
    assert found.again is None and "says too little" in said
    assert int(said.partition("(")[2].split()[0]) >= ENOUGH_ROUNDS
    assert not entries(folder)[0].refuted


def test_where_the_expert_seems_better_a_search_follows_and_the_better_one_stays(
    stored, study, folder
):
    stored(TWO, speedup=2.0)
    second = study(lambda s: 300.0 if s.pin_memory else 200.0 if s.num_workers else 100.0)
    found, outcome = second.studied(date=LATER)
    assert found.again is None and outcome == ["updated"]
    assert any("(expert seems faster)" in note for note in second.session.seen.notes)
    (entry,) = entries(folder)
    assert entry.settings.pin_memory and not entry.refuted


def test_numerics_that_nobody_had_time_for_refute_no_hit(study, folder):
    study().studied()
    gate = Gate(lambda settings: f"{UNKNOWN}there was no time left", strict=True)
    found, outcome = study().studied(date=LATER, make_gate=made(gate))
    assert found.again is None and outcome == ["unsatisfied"]
    (entry,) = entries(folder)
    assert not entry.refuted


def test_where_the_baselines_own_steps_end_badly_a_hit_is_proven_again_as_it_was_stored(study):
    """More time would tell nothing of it, neither now nor in any later study."""
    reason = f"{NO_BASELINE}no backward pass from a scalar loss was seen"
    for outcome in ("added", "hit"):
        one = study()
        found, ended = one.studied(make_gate=made(Gate(lambda settings: reason)))
        assert ended == [outcome] and found.unchecked == reason
    assert found.again is True and "search" not in kinds(one)
    doubts = [doubt.name for doubt in doubts_of(found, one.session.lab.folder)]
    assert "numerics-unchecked" in doubts


def test_a_hit_of_which_too_little_is_known_begins_the_search(study):
    winner = study().studied()[0].proof.winner.settings
    second = study()
    found, _ = second.studied(max_rounds=1)
    assert found.again is None
    tried = [trial.settings for trial in second.session.seen.trials if trial.kind == "search"]
    assert tried[0] == winner


def test_the_baselines_runs_beside_a_hit_that_failed_are_the_noise_stages(study):
    study().studied()
    second = study(other)
    found, _ = second.studied()
    before = kinds(second)[: kinds(second).index("search")]
    assert before.count("confirm") >= 6 and "repeat" not in before
    assert found.repeats[0].t < found.repeats[1].t and len(found.repeats) >= 3
    assert any("3 runs of the baseline differ" in note for note in second.session.seen.notes)


def test_a_budget_that_is_too_short_for_the_search_after_a_failed_hit_is_told(study):
    study().studied()
    second = study(budget_s=90, fails=crashing)
    found, _ = second.studied()
    assert found.again is False and found.would_do
    assert any("budget=90s is too short" in note for note in second.session.seen.notes)
