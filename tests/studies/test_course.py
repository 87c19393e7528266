"""A study from its baseline to its proof, on a virtual clock."""

import re
from pathlib import Path

import pytest
from replay import BASE
from test_search import rate

from hotlap.settings import Settings
from objectives import RunTime
from studies import Plan, doubts_of
from studies.anchor import EVERY_TRIALS
from studies.gate import UNKNOWN
from studies.noise import Noise
from studies.rounds import ENOUGH_ROUNDS

FOLDER = Path("outputs/digits")


class Gate:
    """Refuses what `refuses` says."""

    compared = "10 steps on the same batches"

    def __init__(self, refuses, strict=False):
        self._refuses, self._strict = refuses, strict
        self.asked = []

    def __call__(self, settings, timeout_s):
        assert timeout_s > 0
        self.asked.append(settings)
        return self._refuses(settings)

    def must_know(self, settings):
        return self._strict


def made(gate):
    """The factory that a course is given."""

    def make(run, seconds):
        assert run.outcome == "ok" and seconds > 0
        return gate

    return make


def kinds(session):
    return list(dict.fromkeys(t.kind for t in session.seen.trials))


def test_the_stages_come_in_their_order_and_within_the_budget(replay):
    session = replay(rate, budget_s=900, process_noise=0.01)
    found = session.studied(make_gate=made(Gate(lambda settings: "")))
    assert kinds(session) == ["baseline", "expert", "repeat", "search", "ablate", "confirm"]
    assert session.budget.spent() <= 900
    assert found.proof.found_better and not found.refused
    assert "10 steps on the same batches" in session.seen.notes


def test_a_study_too_short_for_two_repeats_begins_its_search_at_once(replay):
    session = replay(rate, budget_s=90, process_noise=0.01)
    session.studied()
    assert kinds(session)[:3] == ["baseline", "expert", "search"]


def test_on_a_quiet_machine_a_short_study_measures_new_settings_and_not_the_baseline(replay):
    session = replay(rate, budget_s=300, process_noise=0.005)
    session.studied()
    order = [t.kind for t in session.seen.trials if t.kind in ("repeat", "search")]
    searching = order[order.index("search") :]
    assert searching.count("search") >= 10
    assert searching.count("repeat") <= searching.count("search") / EVERY_TRIALS + 1


def test_what_is_frozen_was_proven_as_it_is_and_holds_few_settings(replay, tmp_path):
    held = []
    for seed in range(5):
        session = replay(
            rate,
            folder=tmp_path / str(seed),
            in_memory=True,
            budget_s=1200,
            process_noise=0.01,
            seed=seed,
        )
        found = session.studied()
        winner = found.proof.winner.settings
        assert (winner.num_workers, winner.memory_format) == (2, "channels_last")
        speedup = found.proof.winner.speedup(found.proof.baseline)
        assert speedup.low <= 3.6 <= speedup.high
        assert winner.key() in {
            t.settings.key() for t in session.seen.trials if t.kind == "confirm"
        }
        held.append(set(winner.changed()))
        by_name = {name: c for c in found.contributions for name in c.settings}
        assert by_name["num_workers"].ratio.value == pytest.approx(3.0, rel=0.1)
        assert by_name["memory_format"].ratio.value == pytest.approx(1.2, rel=0.1)
    assert sum(changed == {"num_workers", "memory_format"} for changed in held) >= 4


def test_the_search_begins_with_what_the_device_and_its_threads_are_seen_to_want(replay, tmp_path):
    knobs = {
        "memory_format": {"choices": ["contiguous", "channels_last"]},
        "intraop_threads": {"choices": [None, 1, 2, 4]},
        "compile_mode": {"choices": ["none", "default", "reduce-overhead"]},
    }

    def best_as_it_is(settings):
        return 100.0 if settings == BASE else 80.0

    idle = {"knobs": knobs, "in_memory": True, "gpu": {"gpu_utilization_share": 0.4}}
    session = replay(best_as_it_is, tmp_path / "idle", **idle)
    session.studied(BASE, n_trials=2)
    assert session.search.busy_of(BASE) == 0.4
    first = [t.settings.changed() for t in session.seen.trials if t.kind == "search"]
    assert first == [{"compile_mode": "reduce-overhead"}]
    session = replay(best_as_it_is, tmp_path / "cpu", knobs=knobs, in_memory=True)
    session.studied(BASE, n_trials=3, shares_cores=True, own_threads=4)
    assert session.search.busy_of(BASE) is None
    first = [t.settings.changed() for t in session.seen.trials if t.kind == "search"]
    assert first == [{"memory_format": "channels_last"}, {"intraop_threads": 2}]


def test_the_searchs_own_figure_stands_beside_the_proven_one(replay):
    found = replay(rate, budget_s=900, process_noise=0.03).studied()
    assert found.searched == pytest.approx(3.6, rel=0.2)


def test_of_a_winner_that_is_a_part_of_a_trial_the_trials_figure_is_told(replay, tmp_path):
    """Eight trials without descent: what is left of the best one was no trial itself."""
    parts = []
    for seed in range(6):
        session = replay(
            rate, folder=tmp_path / str(seed), in_memory=True, budget_s=1200, seed=seed
        )
        found = session.studied(n_trials=8, guided=False)
        assert found.searched == pytest.approx(rate(found.proof.winner.settings) / 100, rel=0.05)
        parts += [found] * bool(found.searched_of)
    assert parts
    for found in parts:
        assert found.proof.winner.name == f"{found.searched_of} with less"


def test_on_a_noisy_machine_rounds_go_on_as_long_as_the_budget_has_time(replay):
    session = replay(rate, budget_s=900, process_noise=0.1)
    found = session.studied()
    assert ENOUGH_ROUNDS < found.proof.n_rounds < Plan().max_rounds and not found.proof.capped
    assert 0.95 * 900 < session.budget.spent() <= 900


def test_rounds_that_end_at_their_limit_are_told_with_what_allows_more(replay):
    found = replay(rate, budget_s=3600, process_noise=0.15).studied(max_rounds=4)
    assert found.proof.capped and found.proof.found_better
    doubts = {doubt.name: doubt for doubt in doubts_of(found, FOLDER)}
    assert "resume=outputs/digits confirm.max_rounds=8" in doubts["wide-interval"].advice


def test_before_the_proof_the_noise_is_told_for_the_rounds_that_the_budget_pays(replay):
    told = {}
    for budget_s in (300, 1200):
        session = replay(rate, budget_s=budget_s, process_noise=0.1)
        session.studied()
        (said,) = [note for note in session.seen.notes if "paired rounds show" in note]
        told[budget_s] = int(said.partition(" paired rounds")[0].split()[-1])
    assert told[300] < told[1200] < Plan().max_rounds


def test_racing_learns_of_the_noise_from_each_repeat_of_the_baseline(replay):
    session = replay(rate, budget_s=600, process_noise=0.1)
    told = []
    session.ledger.expect_noise = lambda *noise: told.append(noise)
    found = session.studied()
    degrees = [of_noise[1] for of_noise in told]
    assert degrees == sorted(degrees) and degrees[0] == 2 and degrees[-1] >= 4
    assert told[0] == Noise.of(found.repeats[:3]).between_processes


def test_what_does_not_learn_the_same_is_refused_and_the_next_best_taken(replay):
    def close(s):  # the next best is not so far behind that it leaves the rounds
        return rate(s) / (1.15 if s.memory_format == "channels_last" else 1.0)

    gate = Gate(lambda s: "its loss is nan" if s.memory_format == "channels_last" else "")
    session = replay(close, budget_s=1200, process_noise=0.01)
    found = session.studied(make_gate=made(gate), n_best=4)
    assert found.refused and all(why == "its loss is nan" for _, why in found.refused)
    assert found.proof.winner.settings.memory_format == "contiguous"
    assert found.proof.winner.settings.num_workers > 0
    assert any("is refused: its loss is nan" in note for note in session.seen.notes)


def test_one_gate_judges_all_winners_so_that_the_baseline_is_run_once_for_all(replay):
    gate, n_made = Gate(lambda settings: "it diverged"), []

    def make(run, seconds):
        n_made.append(run)
        return gate

    found = replay(rate, budget_s=900).studied(make_gate=make)
    assert len(found.refused) >= 2 and len(n_made) == 1


def test_when_all_are_refused_the_baseline_is_kept(replay):
    found = replay(rate, budget_s=900).studied(make_gate=made(Gate(lambda s: "it diverged")))
    assert not found.proof.found_better and found.proof.winner.settings == BASE
    assert len(found.refused) >= 2


@pytest.mark.parametrize("strict", [False, True])
def test_numerics_that_nobody_had_time_for_refuse_only_what_changes_the_precision(replay, strict):
    gate = Gate(lambda settings: f"{UNKNOWN}there was no time", strict)
    found = replay(rate, budget_s=900).studied(make_gate=made(gate))
    assert found.proof.found_better is not strict
    assert ("numerics-unchecked" in [d.name for d in doubts_of(found, FOLDER)]) is not strict


@pytest.mark.parametrize(
    ("reason", "cause", "advice"),
    [
        ("there was no time", "the budget was too short", "a larger budget="),
        ("the baseline: its loss is nan", "the baseline's own steps", "outputs/digits/numerics"),
    ],
)
def test_numerics_that_are_not_known_are_told_with_their_own_cause(replay, reason, cause, advice):
    gate = Gate(lambda settings: f"{UNKNOWN}{reason}")
    found = replay(rate, budget_s=900).studied(make_gate=made(gate))
    doubt = next(d for d in doubts_of(found, FOLDER) if d.name == "numerics-unchecked")
    assert cause in doubt.cause and advice in doubt.advice


def test_a_machine_that_becomes_slower_midway_is_told_and_chooses_nobody(replay):
    found = replay(
        rate, budget_s=900, process_noise=0.01, drift=lambda t: 0.6 if t > 300 else 1.0
    ).studied()
    winner = found.proof.winner
    assert (winner.settings.num_workers, winner.settings.memory_format) == (2, "channels_last")
    assert winner.speedup(found.proof.baseline).low <= 3.6
    assert "baseline-drift" in [doubt.name for doubt in doubts_of(found, FOLDER)]


def test_where_run_time_is_the_goal_the_machine_is_told_of_in_samples_per_second(replay):
    timed = {"objective": RunTime(3, n_samples=20_000), "n_epoch_steps": 1000}
    slower = replay(rate, budget_s=900, drift=lambda t: 0.6 if t > 300 else 1.0, **timed).studied()
    doubts = {doubt.name: doubt for doubt in doubts_of(slower, FOLDER)}
    assert "slower in the" in doubts["baseline-drift"].sentence


def test_two_modes_are_told_in_samples_per_second_for_the_objective_run_time(replay):
    """Threads that spin beside a neighbour run at a third of their rate, a part of the time."""
    timed = {"objective": RunTime(3, n_samples=20_000), "n_epoch_steps": 1000}

    def spinning(t):
        return 1.0 if t % 40 < 24 else 0.3

    found = replay(lambda settings: 100.0, budget_s=900, drift=spinning, **timed).studied()
    doubts = {doubt.name: doubt for doubt in doubts_of(found, FOLDER)}
    fast, slow = re.findall(r"at about ([\d.]+)", doubts["two-modes"].sentence)
    assert (float(fast), float(slow)) == pytest.approx((100, 30), rel=0.01)
    assert "samples/s" in doubts["two-modes"].sentence


def test_of_equal_settings_nothing_is_frozen(replay, tmp_path):
    found = [
        replay(
            lambda settings: 100.0,
            folder=tmp_path / str(seed),
            in_memory=True,
            budget_s=300,
            process_noise=0.02,
            seed=seed,
        )
        .studied()
        .proof.found_better
        for seed in range(6)
    ]
    assert sum(found) <= 2


@pytest.mark.parametrize("budget_s", [20, 45, 90])
def test_a_budget_that_is_much_too_small_is_kept_all_the_same(replay, budget_s):
    session = replay(rate, budget_s=budget_s)
    found = session.studied()
    assert session.budget.spent() <= budget_s
    assert found.proof.winner.settings.key() in {BASE.key(), found.proof.best_tried.settings.key()}


COMPILE = {"compile_mode": {"choices": ["none", "default"]}, "num_workers": {"choices": [0, 2]}}


def compiled(settings):
    """Two workers double the rate, and compilation makes half as much again of it."""
    workers = 2.0 if settings.num_workers else 1.0
    return 100 * workers * (1.5 if settings.compile_mode == "default" else 1.0)


@pytest.mark.parametrize(("epochs", "mode"), [(1, "none"), (500, "default")])
def test_for_a_short_run_compilation_is_left_out_and_for_a_long_one_taken(replay, epochs, mode):
    """An epoch of 1,000 steps has some 20,000 samples or less, and takes 100 s with workers."""
    session = replay(
        compiled,
        knobs=COMPILE,
        budget_s=4000,
        process_noise=0.005,
        objective=RunTime(epochs, n_samples=20_000),
        compile_s=lambda s: 120.0 if s.compile_mode == "default" else 0.0,
        n_epoch_steps=1000,
    )
    found = session.studied(expert=Settings(num_workers=2))
    winner = found.proof.winner
    assert winner.settings.changed() == {
        "num_workers": 2,
        **({"compile_mode": mode} if mode != "none" else {}),
    }
    truth = {
        key: 2.0 + (120 if key else 0) + epochs * 20_000 / (300 if key else 200)
        for key in (True, False)
    }[mode == "default"]
    assert winner.rate().value == pytest.approx(truth, rel=0.02)
    slow = 2.0 + epochs * 20_000 / 100
    assert winner.speedup(found.proof.baseline).value == pytest.approx(slow / truth, rel=0.03)
