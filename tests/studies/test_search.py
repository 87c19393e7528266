import pytest
from optuna.trial import TrialState
from replay import BASE, EXPERT, KEEP, KNOBS

from hotlap.errors import StudyFailed
from hotlap.settings import Settings
from studies.anchor import Anchor
from studies.noise import WIDE, WIDE_DEGREES, Repeat
from studies.samplers import NAMES

SMALL = {name: KNOBS[name] for name in ("num_workers", "prefetch_factor")}


def rate(settings):
    """Two workers are three times as good as none; a layout helps a little."""
    workers = {0: 1.0, 1: 2.0, 2: 3.0, 4: 2.5}[settings.num_workers]
    return 100 * workers * (1.2 if settings.memory_format == "channels_last" else 1.0)


def test_trial_0_is_the_baseline_and_trial_1_the_expert(replay):
    session = replay(rate)
    session.searched()
    first, second = session.seen.trials[:2]
    assert (first.number, first.kind, first.settings) == (0, "baseline", BASE)
    assert (second.number, second.kind, second.settings) == (1, "expert", EXPERT)


def test_an_expert_that_equals_the_baseline_is_not_measured_twice(replay):
    session = replay(rate)
    session.searched(n_trials=5, expert=BASE)
    assert [t.kind for t in session.seen.trials] == ["baseline"] + ["search"] * 4


@pytest.mark.parametrize("sampler", NAMES)
def test_every_sampler_searches_a_whole_space_once_and_says_that_it_is_exhausted(replay, sampler):
    session = replay(rate, knobs=SMALL, sampler=sampler, budget_s=1e6)
    assert session.searched(n_trials=100) == "every settings value of the space has been tried"
    keys = [settings.key() for settings in session.runner.ran]
    # The expert's pin_memory lies outside of the space.
    assert len(keys) == len(set(keys)) == len(list(session.space.grid())) + 1


@pytest.mark.parametrize("sampler", NAMES)
def test_where_only_a_part_of_the_space_can_be_tried_nothing_else_is_proposed(replay, sampler):
    known = [
        BASE,
        Settings(num_workers=1),
        Settings(num_workers=4, prefetch_factor=8, pin_memory=True),
        Settings(num_workers=2, prefetch_factor=4, memory_format="channels_last"),
    ]
    session = replay(rate, sampler=sampler, budget_s=1e6, known=known)
    assert session.space.size == 4
    assert session.searched() == "every settings value that the table has was tried"
    ran = [settings.key() for settings in session.runner.ran]
    assert len(ran) == 4 and set(ran) == {settings.key() for settings in known}


@pytest.mark.parametrize("sampler", ["tpe", "random", "brute_force"])
def test_a_search_finds_the_best_settings_of_forty(replay, sampler):
    session = replay(rate, sampler=sampler, budget_s=1e6)
    session.searched(n_trials=41)
    best = next(iter(session.search.best(1).values()))
    assert (best.num_workers, best.memory_format) == (2, "channels_last")


def test_a_trial_without_workers_carries_no_parameter_of_theirs(replay, rows):
    session = replay(rate, budget_s=1e6)
    session.searched(n_trials=30)
    without = [t for t in rows() if t.user_attrs["settings"]["num_workers"] == 0]
    with_workers = [t for t in rows() if t.user_attrs["settings"]["num_workers"] > 0]
    assert without and not any("prefetch_factor" in t.params for t in without)
    assert all("prefetch_factor" in t.params for t in with_workers if t.params)


def test_settings_outside_of_the_space_are_kept_without_parameters(replay, on_disk, rows):
    knobs = {"num_workers": {"choices": [1, 2]}}
    session = replay(rate, knobs=knobs, sampler="gp", budget_s=1e6)
    session.searched(n_trials=4)
    assert [t.params for t in rows()[:2]] == [{}, {}]
    assert rows()[0].state == TrialState.COMPLETE
    assert rows()[0].value == pytest.approx(100, rel=0.01)
    assert {"num_workers"} == {name for t in session.ledger.study.trials for name in t.params}


@pytest.mark.parametrize("sampler", NAMES)
@pytest.mark.parametrize("fault", ["oom", "crash", "invalid", "diverged", "hang"])
def test_failing_settings_do_not_stop_the_study(replay, rows, sampler, fault):
    session = replay(
        rate,
        knobs=SMALL,
        sampler=sampler,
        budget_s=1e7,
        fails=lambda settings: fault if settings.num_workers in (2, 4) else "",
    )
    assert session.searched(expert=BASE) == "every settings value of the space has been tried"
    outcome = "timeout" if fault == "hang" else fault
    assert session.search.n_outcomes() == {"ok": 4, outcome: 6}
    failed = [t for t in rows() if t.user_attrs["outcome"] == outcome]
    assert len(failed) == 6
    for trial in failed:
        # See studies/outcomes.py; no made-up number, and a reason.
        assert trial.state == TrialState.PRUNED
        assert trial.value is None and not trial.intermediate_values
        assert trial.user_attrs["reason"]
    assert "num_workers=2" not in str(session.search.best(9))


@pytest.mark.parametrize("fault", ["crash", "hang"])
def test_a_failing_baseline_stops_at_once_with_the_users_own_traceback(replay, fault):
    session = replay(rate, fails=lambda settings: fault)
    with pytest.raises(StudyFailed) as caught:
        session.searched()
    assert len(session.runner.ran) == 1
    assert str(caught.value).startswith("Traceback of the worker\n")
    assert "worker.log" in str(caught.value)


def test_a_baseline_without_memory_says_what_to_type_and_no_traceback(replay):
    with pytest.raises(StudyFailed) as caught:
        replay(rate, fails=lambda settings: "oom").searched()
    assert "Traceback" not in str(caught.value)
    assert "Tried to allocate 20.00 GiB. Nothing else was tried; type" in str(caught.value)


def test_a_baseline_that_failed_once_is_measured_again_in_the_next_session(replay):
    with pytest.raises(StudyFailed):
        replay(rate, fails=lambda settings: "crash").searched()
    session = replay(rate)
    session.searched(n_trials=3)
    assert [t.kind for t in session.seen.trials][:2] == ["baseline", "expert"]


@pytest.mark.parametrize("budget_s", [60, 200, 1000])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_search_keeps_to_its_share_whatever_trials_do(replay, budget_s, share):
    hanging = {0: [], 0.5: [1, 4], 1: [1, 2, 4]}[share]
    session = replay(
        rate,
        budget_s=budget_s,
        fails=lambda settings: "hang" if settings.num_workers in hanging else "",
    )
    assert session.searched() in (
        "the time for searching is spent",
        "every settings value of the space has been tried",
    )
    assert session.budget.spent() <= (1 - KEEP) * budget_s


def test_a_trial_cut_off_by_the_searchs_end_is_no_failure_of_its_settings(replay, on_disk, rows):
    slow = Settings(num_workers=4, prefetch_factor=8)
    session = replay(rate, budget_s=40, fails=lambda s: "hang" if s.key() == slow.key() else "")
    session.search.first("baseline", BASE)
    session.clock.now = 7.8  # 9 s are left, enough for a usual trial
    session.search.run(None, enqueued=[slow])
    cut = rows()[-1]
    assert cut.user_attrs["outcome"] == "timeout" and cut.state == TrialState.FAIL
    # So the next session may try it again, and here it ends well.
    session = replay(rate, budget_s=100)
    session.search.run(None, enqueued=[slow])
    assert session.runner.ran[0].key() == slow.key()


def test_racing_saves_time_and_hopeless_trials_end_within_warmup(replay):
    def spread(settings):
        return {0: 100.0, 1: 10.0, 2: 300.0, 4: 250.0}[settings.num_workers]

    session = replay(spread, budget_s=1e6, window_s=8.0)
    session.searched()
    raced = [t for t in session.seen.trials if t.run.outcome == "pruned"]
    hopeless = [t for t in raced if t.settings.num_workers == 1]
    assert len(hopeless) == 12 and not any(t.run.measurement.blocks for t in hopeless)
    behind = [t for t in raced if t.settings.num_workers == 0]
    assert behind and all(2 <= len(t.run.measurement.blocks) <= 4 for t in behind)
    assert all(t.value == pytest.approx(spread(t.settings), rel=0.05) for t in raced)
    equals = [t for t in session.seen.trials if t.settings.num_workers == 2]
    assert sum(t.run.outcome == "ok" for t in equals) >= len(equals) - 1


def test_where_the_noise_was_not_measured_racing_expects_much(replay):
    """As in a session that goes on with a study and has no time for the baseline."""
    session = replay(rate, budget_s=1e6)
    told = []
    session.ledger.expect_noise = lambda *noise: told.append(noise)
    session.searched(n_trials=4)
    assert told == [(WIDE, WIDE_DEGREES)]


def test_without_a_pruner_only_hopeless_trials_are_stopped(replay):
    session = replay(
        lambda settings: 5.0 if settings.num_workers == 1 else rate(settings),
        pruner="none",
        knobs=SMALL,
        budget_s=1e6,
    )
    session.searched()
    for trial in session.seen.trials:
        hopeless = trial.settings.num_workers == 1
        assert trial.run.outcome == ("pruned" if hopeless else "ok")
        assert not (hopeless and trial.run.measurement.blocks)  # it is stopped in its warm-up
    assert "pruned" in session.outcomes("search")


def test_settings_that_break_a_limit_are_never_the_best(replay, on_disk, rows):
    def violations(measurement):
        return [0.05 if measurement.num_workers == 2 else -0.2]

    session = replay(rate, budget_s=1e6, search={"violations": violations})
    session.searched(n_trials=20)
    assert all(settings.num_workers != 2 for settings in session.search.best(20).values())
    over = [t for t in rows() if t.user_attrs["settings"]["num_workers"] == 2]
    assert over and all(t.user_attrs["constraints"] == [0.05] for t in over)


@pytest.mark.parametrize("times", [3.0, 6.0])
def test_what_is_over_a_limit_stops_no_trial_within_it(replay, times):
    """Neither by racing nor within the warm-up, however many times as fast it is."""

    def fast_over(settings):
        return {0: 60.0, 1: 95.0, 2: 100.0, 4: 100.0 * times}[settings.num_workers]

    session = replay(
        fast_over,
        knobs=SMALL,
        budget_s=1e6,
        search={"violations": lambda measured: [0.05 if measured.num_workers == 4 else -0.2]},
    )
    session.search.first("baseline", BASE)
    session.search.run(None, enqueued=[Settings(num_workers=4)])
    assert session.seen.trials[1].settings.num_workers == 4
    within = [t for t in session.seen.trials if t.settings.num_workers == 2]
    assert [t.run.outcome for t in within] == ["ok"] * 3
    assert next(iter(session.search.best(1).values())).num_workers == 2


@pytest.mark.parametrize("sampler", ["tpe", "gp"])
def test_samplers_learn_of_limits(replay, sampler):
    def violations(measurement):
        return [0.5 if measurement.num_workers == 2 else -0.5]

    session = replay(rate, budget_s=1e6, sampler=sampler, search={"violations": violations})
    session.searched(n_trials=14)
    trials = session.ledger.study.get_trials(states=[TrialState.COMPLETE])
    # Where Optuna keeps them: `constraints` before 5, a key for each since.
    assert all(any(key.startswith("constraints") for key in t.system_attrs) for t in trials)


def test_what_is_known_to_fail_is_refused_with_its_reason_and_not_run(replay, on_disk, rows):
    def refuse(settings):
        if settings.num_workers * settings.prefetch_factor > 8:
            return "shared memory: needs 640 MiB, /dev/shm has 64 MiB free"
        return ""

    session = replay(rate, knobs=SMALL, budget_s=1e6, pruner="none", search={"refuse": refuse})
    session.searched(expert=BASE)
    assert session.search.n_outcomes() == {"ok": 7, "invalid": 3}
    assert not any(refuse(settings) for settings in session.runner.ran)
    assert [t.user_attrs["reason"] for t in rows() if t.user_attrs["outcome"] == "invalid"] == [
        "shared memory: needs 640 MiB, /dev/shm has 64 MiB free"
    ] * 3
    assert [t.number for t in session.seen.trials] == list(range(10))


def test_enqueued_settings_come_first_and_once(replay):
    session = replay(rate)
    session.search.first("baseline", BASE)
    hit = Settings(num_workers=4, prefetch_factor=8)
    session.search.run(3, enqueued=[BASE, hit])
    assert session.runner.ran[1] == hit


def test_the_baseline_is_measured_once_however_many_proposals_are_refused(replay):
    """Where it is due before each trial: a refusal is none."""
    session = replay(
        rate,
        budget_s=900,
        search={"refuse": lambda s: "no shared memory" if s.num_workers == 4 else ""},
    )

    def again():
        trial = session.lab.measure("repeat", BASE, 100)
        return Repeat(trial.ended_s, trial.value, trial.value)

    session.search.first("baseline", BASE)
    session.search.run(None, anchor=Anchor(again, [again()], 0.0, session.lab.now))
    kinds = [
        t.kind for t in session.seen.trials if t.kind == "repeat" or t.run.outcome == "invalid"
    ]
    assert kinds.count("search") >= 3
    tried = [t.kind for t in session.seen.trials if t.run.outcome != "invalid"]
    assert "repeat search repeat search" in " ".join(tried)
    assert "repeat repeat" not in " ".join(tried[2:])
