"""How long the proof of the bank's settings may take, numerics and compilation included."""

import math

import pytest
from banked import FACTS, LATER, Banked, entries, goal_of, kinds, origin_of
from test_compiled import compiles_once
from test_course import Gate, made
from test_prover import compiles

from hotlap.settings import Settings
from studies import Bank
from studies.again import AGAIN_S, AGAIN_SHARE, TooLong, time_for
from studies.gate import UNKNOWN
from studies.numerics import SHARE

KNOBS = {"compile_mode": {"choices": ["none", "default"]}}
COMPILED = Settings(compile_mode="default")


@pytest.fixture
def compiling(study):
    """Opens studies of which each compiles anew, as the runner of processes lets them."""

    def opened(cold_s, **options):
        own = {"knobs": KNOBS, "compile_s": compiles_once(cold_s), "budget_s": 600.0}
        return study(compiles, **{**own, **options})

    return opened


def test_an_entry_says_what_its_compilation_took_where_nothing_was_compiled(compiling, folder):
    compiling(100.0).studied()
    (entry,) = entries(folder)
    assert entry.settings == COMPILED and entry.compile_s == 100.0


def test_what_compiles_for_long_is_not_proven_again_but_is_the_searchs_first_trial(
    compiling, folder
):
    compiling(100.0).studied()
    second = compiling(100.0)
    found, outcome = second.studied(date=LATER)
    assert found.again is None and outcome == ["kept"]
    assert kinds(second).index("search") < kinds(second).index("confirm")
    tried = [trial.settings for trial in second.session.seen.trials if trial.kind == "search"]
    assert tried[0] == COMPILED and found.proof.winner.settings == COMPILED
    (said,) = [note for note in second.session.seen.notes if "they compile for" in note]
    assert said == (
        "the bank's settings are tried by the search alone: they compile for 100 s, too long to be "
        "proven again within 120 s, their share of the budget"
    )


@pytest.mark.parametrize(("cold_s", "budget_s"), [(30.0, 600.0), (100.0, 1800.0)])
def test_what_there_is_time_for_is_compiled_once_and_proven_again(compiling, cold_s, budget_s):
    compiling(cold_s, budget_s=budget_s).studied()
    second = compiling(cold_s, budget_s=budget_s)
    found, outcome = second.studied(date=LATER)
    assert found.again is True and outcome == ["hit"] and found.proof.n_rounds >= 5
    assert second.session.budget.spent() <= 10 + AGAIN_S + 2 * cold_s


def test_an_entry_that_does_not_say_how_long_it_compiles_is_the_searchs_first_trial(
    compiling, folder
):
    second = compiling(20.0)
    origin = origin_of(goal_of(second.session), FACTS)
    Bank(folder, lambda text: None).store(COMPILED, origin, lambda old: False)
    (entry,) = entries(folder)
    assert math.isinf(entry.compile_s)
    banked = Banked(second.session, folder)
    found, outcome = banked.studied(date=LATER)
    assert found.again is None and outcome == ["kept"]
    assert any("does not say for how long" in note for note in second.session.seen.notes)
    tried = [trial.settings for trial in second.session.seen.trials if trial.kind == "search"]
    assert tried[0] == COMPILED
    (after,) = entries(folder)  # says it from now on
    assert after.compile_s == 20.0 and after.is_same(entry)
    found, outcome = compiling(20.0).studied()
    assert found.again is True and outcome == ["hit"]


def test_an_entry_that_a_longer_study_keeps_says_how_long_it_compiles(compiling, folder):
    origin = origin_of(goal_of(compiling(20.0).session), FACTS)
    Bank(folder, lambda text: None).store(COMPILED, origin, lambda old: False)
    longer = compiling(20.0, budget_s=1800)
    assert longer.reuse.known.hit is None and longer.studied()[1] == ["kept"]
    (entry,) = entries(folder)
    assert entry.compile_s == 20.0 and entry.goal.budget_s == 1800


def test_an_entry_says_what_its_compilation_took_the_last_time_that_a_search_followed(
    compiling, folder
):
    """A neighbour had made it long once: it would never be proven again."""
    compiling(100.0).studied()
    compiling(20.0).studied(date=LATER)
    (entry,) = entries(folder)
    assert entry.compile_s == 20.0 and entry.date < LATER
    assert compiling(20.0).studied()[0].again is True


@pytest.mark.parametrize(("compile_s", "name"), [(50.0, "bank"), (104.0, "expert")])
def test_without_time_to_search_the_one_comparison_is_with_the_bank_if_it_can_prove_anything(
    compiling, folder, compile_s, name
):
    """Trials of 90 s, after a probe of 30 s: the baseline leaves 476 s of ten minutes."""
    session = compiling(compile_s, window_s=86.0).session
    session.clock.now = 30
    origin = origin_of(goal_of(session), FACTS, compile_s=compile_s)
    Bank(folder, lambda text: None).store(COMPILED, origin, lambda old: False)
    found, _ = Banked(session, folder).studied(date=LATER)
    assert [arm.name for arm in found.proof.arms] == ["baseline", name]
    assert found.proof.n_rounds == 2 and session.budget.spent() <= 600
    assert any(f"one comparison, baseline and {name}" in note for note in session.seen.notes)
    said = [note for note in session.seen.notes if note.startswith("the bank's settings")]
    assert [note.partition(":")[0] for note in said] == (
        [] if name == "bank" else ["the bank's settings are not tried"]
    )


def test_settings_for_which_no_trial_is_allowed_are_not_said_to_be_tried(compiling):
    compiling(100.0).studied()
    second = compiling(100.0)
    second.studied(date=LATER, n_trials=2)
    assert "search" not in kinds(second)
    (said,) = [note for note in second.session.seen.notes if "they compile for" in note]
    assert said.startswith("the bank's settings are not tried: they compile for 100 s")


@pytest.mark.parametrize("compile_s", [-1.0, "long", True, None, 10**400])
def test_what_is_no_duration_is_not_believed(compiling, folder, compile_s):
    origin = origin_of(goal_of(compiling(20.0).session), FACTS, compile_s=compile_s)
    Bank(folder, lambda text: None).store(COMPILED, origin, lambda old: False)
    (entry,) = entries(folder)
    assert math.isinf(entry.compile_s)


@pytest.mark.parametrize(
    ("compile_s", "typical_s", "budget_s", "seconds"),
    [(0, 5, 3600, 120), (0, 30, 3600, 300), (0, 5, 300, 60), (50, 5, 3600, 220)],
)
def test_the_rounds_have_two_minutes_or_ten_trials_and_two_compilations_within_a_fifth(
    compile_s, typical_s, budget_s, seconds
):
    assert time_for(compile_s, typical_s, budget_s) == seconds
    with pytest.raises(TooLong):
        time_for(0.2 * budget_s, typical_s, budget_s)


class Endless(Gate):
    """Takes all the time that there is, as the real one does, and knows nothing then."""

    def __init__(self, clock, strict):
        super().__init__(lambda settings: "", strict)
        self._clock = clock

    def __call__(self, settings, timeout_s):
        self._clock.now += max(0.0, timeout_s)
        return f"{UNKNOWN}there was no time left"


@pytest.mark.parametrize("strict", [False, True])
def test_numerics_of_a_hit_take_their_own_share_and_leave_the_search_its_time(study, strict):
    study().studied()
    second = study()
    gate = Endless(second.session.clock, strict)
    found, _ = second.studied(date=LATER, make_gate=made(gate))
    assert found.again is None
    assert any("neither proven again nor refuted" in note for note in second.session.seen.notes)
    began = next(t for t in second.session.seen.trials if t.kind == "expert")
    own_s = AGAIN_S + SHARE * 900
    assert AGAIN_SHARE * 900 > AGAIN_S and began.ended_s <= own_s + 20
    assert "search" in kinds(second)


def test_a_hit_whose_numerics_nobody_has_seen_is_not_proven_again(study):
    study().studied()
    gate = Gate(lambda settings: f"{UNKNOWN}there was no time left")
    found, _ = study().studied(date=LATER, make_gate=made(gate))
    assert found.again is None
