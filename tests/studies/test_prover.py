"""How the time after the search is spent: what was found is proven, and nothing is kept in vain."""

from dataclasses import replace

import pytest
from replay import BASE, EXPERT
from test_compiled import compiles_once
from test_course import Gate, made
from test_search import rate

from hotlap.settings import Settings
from studies import Ablation, Noise, Plan
from studies.ablate import UNSEEN
from studies.descent import Descent
from studies.gate import NO_BASELINE, UNKNOWN
from studies.prover import Prover
from studies.rounds import ENOUGH_ROUNDS

NOISY = {"process_noise": 0.09, "in_memory": True}


def slightly(settings):
    """Workers bring 6 %, and little else anything."""
    return 100.0 * (1.06 if settings.num_workers else 1.0)


def confirmed(session):
    return [t.settings.key() for t in session.seen.trials if t.kind == "confirm"]


class Early(Gate):
    """Notes how many trials of the proof there were when it was asked."""

    def __init__(self, session, refuses=lambda settings: ""):
        super().__init__(refuses)
        self._session = session
        self.after = []

    def __call__(self, settings, timeout_s):
        self.after.append(len(confirmed(self._session)))
        return super().__call__(settings, timeout_s)


@pytest.mark.parametrize("budget_s", [150, 300, 600])
def test_the_best_of_the_search_stands_in_the_proof(replay, tmp_path, budget_s):
    for seed in range(6):
        folder = tmp_path / str(seed)
        session = replay(rate, folder=folder, budget_s=budget_s, seed=seed, **NOISY)
        session.studied()
        (best,) = session.search.best(1).values()
        assert best.key() in confirmed(session)


def test_what_no_rounds_could_show_is_not_taken_apart_and_the_proof_has_one_arm(replay, tmp_path):
    """Unless a lucky trial has made 6 % seem four times as much, as one of many often does."""
    rounds = []
    for seed in range(6):
        folder = tmp_path / str(seed)
        session = replay(slightly, folder=folder, budget_s=420, seed=seed, **NOISY)
        found = session.studied()
        if (found.searched or 1.0) > 1.22:
            continue
        assert not [t for t in session.seen.trials if t.kind == "ablate"]
        if len(next(iter(session.search.best(1).values())).changed()) > 1:
            assert UNSEEN in session.seen.notes
        assert len(found.proof.arms) == 2
        rounds.append(found.proof.n_rounds)
    assert len(rounds) >= 2 and min(rounds) >= 11  # 210 s of arms that take 8 s


def test_where_all_have_many_rounds_the_luckiest_is_not_the_only_one(replay, tmp_path):
    """A trial that is lucky enough seems to need no more than five."""
    for seed in range(6):
        folder = tmp_path / str(seed)
        session = replay(slightly, folder=folder, budget_s=1200, seed=seed, **NOISY)
        found = session.studied()
        least = ENOUGH_ROUNDS if (found.searched or 1.0) > 1.22 else 10
        assert len(found.proof.arms) > 2 and found.proof.n_rounds >= least


def test_on_a_quiet_machine_it_is_taken_apart_and_every_arm_is_proven(replay):
    session = replay(rate, budget_s=900, process_noise=0.01)
    found = session.studied()
    assert [t for t in session.seen.trials if t.kind == "ablate"]
    assert len(found.proof.arms) >= 4 and found.proof.arm_of(EXPERT)


@pytest.mark.parametrize("seed", range(3))
def test_a_large_gain_is_taken_apart_where_four_rounds_show_it(replay, seed):
    """Trials of 14 s: three arms would not have five rounds in what is kept for their proof."""
    session = replay(rate, budget_s=600, window_s=10.0, process_noise=0.1, seed=seed)
    found = session.studied()
    assert UNSEEN not in session.seen.notes
    assert [t for t in session.seen.trials if t.kind == "ablate"]
    assert found.proof.found_better and found.ablation.contributions


def test_another_winner_than_was_taken_apart_is_told_what_it_has_alike(replay):
    found = replay(rate, budget_s=900, process_noise=0.01).studied()
    won, whole = found.proof.winner, found.ablation.whole
    names = {name for c in found.contributions for name in c.settings}
    assert {"num_workers", "memory_format"} <= names
    # As fast as the winner was, with one more setting, and without one that was taken apart.
    other = replace(whole, memory_format="contiguous", set_to_none=not whole.set_to_none)
    arm = replace(won, name="trial 99", settings=other)
    proof = replace(found.proof, arms=[found.proof.baseline, arm])
    told = replace(found, proof=proof).contributions
    assert {name for c in told for name in c.settings} == {
        name for c in found.ablation.contributions for name in c.settings
    } - {"memory_format"}
    assert all(c.kept and "among the settings of the search's best" in c.reason for c in told)


def test_a_change_of_one_setting_is_not_taken_apart_and_brings_what_the_proof_says(replay):
    knobs = {"num_workers": {"choices": [0, 2]}}
    session = replay(rate, budget_s=600, process_noise=0.01, knobs=knobs)
    found = session.studied(expert=BASE)
    assert not [t for t in session.seen.trials if t.kind == "ablate"]
    (brings,) = found.contributions
    assert brings.settings == ("num_workers",) and brings.kept
    assert brings.ratio == found.proof.winner.speedup(found.proof.baseline)


def test_what_is_refused_costs_no_rounds(replay):
    session = replay(rate, budget_s=900, process_noise=0.01)
    gate = Early(session, lambda s: "its loss is nan" if s.memory_format == "channels_last" else "")
    found = session.studied(make_gate=made(gate))
    tried = [t.settings for t in session.seen.trials if t.kind == "confirm"]
    assert found.refused and tried
    assert all(settings.memory_format == "contiguous" for settings in tried)
    assert set(gate.after) == {0}
    refused = {arm.name: arm.reasons for arm in found.proof.failed}
    assert refused == {name: [why] for name, why in found.refused}
    assert found.proof.found_better and gate.asked.count(found.proof.winner.settings) == 1


class Slow(Gate):
    """Takes its time for each winner."""

    def __init__(self, clock, seconds):
        super().__init__(lambda settings: "")
        self._clock, self._seconds = clock, seconds

    def __call__(self, settings, timeout_s):
        self._clock.now += min(self._seconds, timeout_s)
        return super().__call__(settings, timeout_s)


@pytest.mark.parametrize("seconds", [None, 1.0, 60.0])
def test_no_seconds_that_the_numerics_do_not_take_are_lost(replay, seconds):
    """The rounds go on until no further one fits, whatever the numerics took of their share."""
    session = replay(slightly, budget_s=600, process_noise=0.2)
    gate = seconds and made(Slow(session.clock, seconds))
    found = session.studied(make_gate=gate or None)
    assert 600 - 4 - session.budget.spent() < 8 * len(found.proof.arms)
    assert session.budget.spent() <= 600


def test_numerics_take_no_more_than_their_share_of_the_time_before_the_rounds(replay):
    session = replay(rate, budget_s=600, process_noise=0.01)
    gate = Slow(session.clock, 1e6)
    found = session.studied(make_gate=made(gate))
    assert found.proof.n_rounds >= 4 and found.proof.found_better


def cold_once(cold_s=100.0, warm_s=2.0):
    """The first trial that compiles does so for 100 s, the others for 2 s."""
    compiled = []

    def compile_s(settings):
        if settings.compile_mode == "none":
            return 0.0
        compiled.append(settings.key())
        return cold_s if len(compiled) == 1 else warm_s

    return compile_s


def compiles(settings):
    return 100.0 * (2.0 if settings.compile_mode == "default" else 1.0)


def test_a_compilation_that_was_cold_once_leaves_time_for_arms_and_rounds(replay):
    knobs = {
        "compile_mode": {"choices": ["none", "default"]},
        "pin_memory": {"choices": [False, True]},
    }
    own = {"compile_s": cold_once(), "process_noise": 0.03, "window_s": 8.0}
    session = replay(compiles, budget_s=600, knobs=knobs, **own)
    found = session.studied(expert=BASE)
    assert len(found.proof.arms) >= 2 and found.proof.n_rounds >= 8
    assert found.proof.winner.settings.compile_mode == "default"


WHOLE = Settings(compile_mode="default", memory_format="channels_last", pin_memory=True)


@pytest.fixture
def late(replay):
    """Proves, in so many seconds, what has compiled for 200 s, doubles the rate and takes 30 s."""

    def proven(less, seconds, judged=False, knows_baseline=True):
        own = {"compile_s": compiles_once(200.0, 0.0), "process_noise": 0.02, "window_s": 26.0}
        session = replay(
            lambda s: compiles(s) * (1.0 if s.set_to_none else 0.8),
            budget_s=2200,
            pruner="none",
            **own,
        )
        first = session.search.first("baseline", BASE)
        session.search.first("expert", EXPERT)
        session.search.run(4, enqueued=[WHOLE, replace(WHOLE, set_to_none=False)])
        session.clock.now = 2200 - 4 - seconds
        plan = Plan(n_best=1)
        parts = (session.lab, session.search, session.budget, plan, session.seen)
        gate = made(CompilesAgain(session.clock, 200.0)) if judged else None
        prover = Prover(*parts, lambda measurement: (), gate)
        own = (Ablation(WHOLE, less), Descent(session.space, 1.0), Noise(5, 0.05))
        proof = prover.confirm(BASE, EXPERT, first if knows_baseline else None, *own)
        assert prover.refuse(proof) == ([], "")
        return proof

    return proven


def test_an_arm_that_has_to_be_compiled_first_takes_no_rounds_from_the_others(late):
    less = replace(WHOLE, memory_format="contiguous")
    proof = late(less, 500)
    assert proof.n_rounds >= 5 and proof.winner.settings == WHOLE
    assert proof.arm_of(EXPERT) and not proof.arm_of(less)


class CompilesAgain(Gate):
    """Trains the baseline twice, once for all, and compiles each winner anew."""

    def __init__(self, clock, compile_s=100.0):
        super().__init__(lambda settings: "", strict=True)
        self._clock, self._needs_s, self._compile_s = clock, 16.0, compile_s
        self.found = []

    def __call__(self, settings, timeout_s):
        super().__call__(settings, timeout_s)
        needs_s = self._needs_s + 8.0
        needs_s += self._compile_s if settings.compile_mode == "default" else 0.0
        self._clock.now += min(needs_s, timeout_s)
        self.found.append("" if needs_s <= timeout_s else f"{UNKNOWN}the winner's steps timed out")
        self._needs_s = 0.0
        return self.found[-1]


@pytest.mark.parametrize("budget_s", [420, 450, 600, 1200])
def test_a_compiled_winner_keeps_time_for_its_numerics_which_compile_once_more(replay, budget_s):
    """It may only be frozen if it was seen to learn the same."""
    knobs = {"compile_mode": {"choices": ["none", "default"]}}
    own = {"compile_s": cold_once(warm_s=17.0), "process_noise": 0.01, "window_s": 8.0}
    session = replay(compiles, budget_s=budget_s, knobs=knobs, **own)
    gate = CompilesAgain(session.clock)
    found = session.studied(expert=BASE, make_gate=made(gate))
    assert gate.found == [""] and not found.refused and not found.unchecked
    assert found.proof.winner.settings.compile_mode == "default"
    assert session.budget.spent() <= budget_s


@pytest.mark.parametrize("knows_baseline", [True, False])
def test_arms_for_whose_numerics_there_is_no_time_take_no_rounds_from_the_first(
    late, knows_baseline
):
    """Four arms would have four rounds, but for the 354 s that judging the winner may take."""
    less = replace(WHOLE, pin_memory=False)
    proof = late(less, 660, judged=True, knows_baseline=knows_baseline)
    assert proof.n_rounds >= 5 and proof.winner.settings == WHOLE


class Late(Gate):
    """Has no time for anybody before the rounds."""

    def __init__(self, session, reason):
        super().__init__(lambda settings: "", strict=True)
        self._session, self._reason = session, reason

    def __call__(self, settings, timeout_s):
        super().__call__(settings, timeout_s)
        return "" if confirmed(self._session) else self._reason


@pytest.mark.parametrize(("reason", "proven"), [(UNKNOWN, True), (NO_BASELINE, False)])
def test_who_must_be_known_and_was_not_for_want_of_time_is_judged_once_more_if_he_has_won(
    replay, reason, proven
):
    """Where the baseline itself fails, time would not help, and nobody is tried in vain."""
    session = replay(rate, budget_s=600, process_noise=0.01)
    gate = Late(session, f"{reason}so it was")
    found = session.studied(make_gate=made(gate))
    assert found.proof.found_better is proven
    assert (gate.asked.count(found.proof.winner.settings) == 2) is proven


@pytest.mark.parametrize("budget_s", [250, 400, 600])
def test_nobody_takes_part_in_the_rounds_who_could_have_been_judged_before_and_was_not(
    replay, budget_s
):
    session = replay(slightly, budget_s=budget_s, process_noise=0.05, in_memory=True)
    gate = Slow(session.clock, 1.0)
    found = session.studied(make_gate=made(gate), n_best=6)
    asked = {settings.key() for settings in gate.asked}
    arms = [arm.settings.key() for arm in (*found.proof.arms[1:], *found.proof.failed)]
    assert arms and set(arms) <= asked


@pytest.mark.usefixtures("on_disk")
def test_a_study_that_goes_on_judges_before_its_rounds_too(replay):
    replay(rate, budget_s=300).studied(n_trials=6)
    session = replay(rate, budget_s=600)
    gate = Early(session)
    session.studied(make_gate=made(gate))
    assert set(gate.after) == {0} and session.seen.trials[0].kind == "repeat"
