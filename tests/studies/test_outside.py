"""What lies outside of a trial, such as the end of its server, is nobody's settings' fault."""

from pathlib import Path

import pytest
from optuna.trial import TrialState
from replay import BASE, EXPERT
from test_search import rate

from hotlap.settings import Settings
from reports.of_study import result_of
from reports.result import to_dict
from reports.sentences import sentences
from reports.table import markdown
from reports.tracking import ended_record
from runners.trial import KILLED
from studies import Rounds, doubts_of
from studies.arm import Arm
from studies.lab import AGAIN

FOLDER = Path("outputs/digits")
OTHER = Settings(num_workers=4)


class Killer:
    """Kills the server in trials of some settings from a stage on, so many times."""

    def __init__(self, stage, key, times):
        self.seen, self._stage, self._key, self._left = None, stage, key, times

    def __call__(self, settings):
        kills = self._left > 0 and self._stage in self.seen.notes and settings.key() == self._key
        self._left -= kills
        return kills


@pytest.fixture
def killed(replay):
    def session(stage, settings, times, **options):
        killer = Killer(stage, settings.key(), times)
        made = replay(rate, is_killed=killer, process_noise=0.01, **options)
        killer.seen = made.seen
        return made

    return session


def reported(found):
    more = {"workload": "w", "study": "s", "folder": FOLDER, "n_outcomes": {"ok": 9}}
    return result_of(found, EXPERT, "throughput", **more)


def test_a_trial_whose_server_was_killed_is_done_once_more_at_once(killed):
    session = killed("confirm", BASE, 1, budget_s=900)
    found = session.studied()
    assert session.seen.notes.count(AGAIN) == 1
    after = [t for t in session.seen.trials if t.kind == "confirm" and t.settings == BASE]
    assert [t.run.outcome for t in after][:2] == ["crash", "ok"]
    assert found.proof.found_better and not found.proof.baseline.reasons
    assert set(found.proof.baseline.rates()) == set(range(found.proof.n_rounds))


def test_an_arm_is_not_barred_for_its_server(killed):
    session = killed("confirm", EXPERT, 2, budget_s=900)
    found = session.studied()
    (expert,) = (arm for arm in found.proof.arms if arm.settings == EXPERT)
    assert not expert.reasons and min(expert.rates()) == 1  # it missed the first round
    assert "could-not-win" not in [doubt.name for doubt in doubts_of(found, FOLDER)]


def test_an_expert_whose_server_failed_in_the_only_round_is_said_to_have_ended_so(killed):
    session = killed("confirm", EXPERT, 2, budget_s=900)
    result = reported(session.studied(max_rounds=1))
    assert result.expert is None and not result.uncompared
    assert result.no_expert.endswith(
        f"in the search) ended well in no round of the proof: crash: {KILLED}."
    )


def test_where_no_round_could_be_compared_that_is_said_and_no_figure_given(killed):
    session = killed("confirm", BASE, 999, budget_s=900)
    found = session.studied(max_rounds=1)
    assert found.proof.uncompared.startswith("baseline and another arm did not both end well in")
    result = reported(found)
    data = to_dict(result)
    assert data["expert"]["speedup"] is None and data["best_tried"]["speedup"] is None
    assert "expert_speedup" not in ended_record("s", "finished", result)["metrics"]
    assert sentences(result)[0].startswith("No round could be compared, so the default is frozen:")
    text = markdown(result)
    assert "0.00x" not in text and "Nothing better" not in text
    (row,) = (line for line in text.splitlines() if line.startswith("| **expert**"))
    assert "| - |" in row
    assert not [d for d in doubts_of(found, FOLDER) if d.name == "could-not-win"]


def test_a_baseline_that_fails_by_itself_is_not_among_those_that_could_not_win(replay):
    """It is what is frozen then."""
    seen = []
    session = replay(
        rate,
        budget_s=900,
        fails=lambda s: "crash" if s.key() == BASE.key() and "confirm" in seen[0].notes else "",
    )
    seen.append(session.seen)
    found = session.studied(max_rounds=2)
    assert "any of 2 rounds (baseline: crash: the worker ended with" in found.proof.uncompared
    assert not found.proof.found_better and not found.proof.baseline.reasons
    assert "could-not-win" not in [doubt.name for doubt in doubts_of(found, FOLDER)]


def test_a_server_that_starts_slowly_takes_nothing_of_the_trials_own_time(replay):
    """A trial takes 8 s of 24 that it may, and its server 20."""
    slow = {"serves_s": lambda s: 20.0 if s.key() == EXPERT.key() else 0.0}
    session = replay(rate, budget_s=100, **slow)
    session.search.first("baseline", BASE)
    session.clock.now = 2.0
    trial = session.search.first("expert", EXPERT)
    assert (trial.run.outcome, trial.run.served_s) == ("ok", 20.0)


def test_what_a_trial_is_expected_to_take_is_its_own_time(replay):
    """A server that has to be started anew in one round leaves time for the others."""
    starts = {"s": 100.0}
    session = replay(rate, budget_s=1000, serves_s=lambda s: starts["s"])
    session.search.first("baseline", BASE)
    assert session.search.wall_s_of(BASE) == session.lab.typical_s() == 8.0
    rounds = Rounds(session.lab, "confirm", lambda: 1000.0, 1)
    arm = Arm("baseline", BASE)
    rounds.measure(arm, 0, arm)
    assert arm.trials[0].run.wall_s == 108.0 and rounds.round_s([arm]) == 8.0


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("lost", ["slow", "killed"])
def test_what_tells_nothing_of_the_settings_is_unfinished_and_tried_by_the_next_session(
    replay, lost
):
    bad = {
        "slow": {"serves_s": lambda s: 1e6 if s.key() == OTHER.key() else 0.0},
        "killed": {"is_killed": lambda s: s.key() == OTHER.key()},
    }[lost]
    first = replay(rate, budget_s=100, **bad)
    first.search.first("baseline", BASE)
    first.search.run(2, enqueued=[OTHER])
    assert [t.state for t in first.ledger.trials] == [TrialState.COMPLETE, TrialState.FAIL]
    assert first.search.n_outcomes() == {"ok": 1, "unfinished": 1}
    assert not first.search.ran_out(OTHER)
    assert [s.key() for s in first.runner.ran].count(OTHER.key()) == (1 if lost == "slow" else 2)
    second = replay(rate, budget_s=100)
    second.search.run(3, enqueued=[OTHER])
    assert second.runner.ran[0].key() == OTHER.key()
    assert second.ledger.trials[2].state == TrialState.COMPLETE


def test_a_server_that_always_fails_lets_the_search_go_on_to_other_settings(replay):
    session = replay(rate, budget_s=600, is_killed=lambda s: s.num_workers > 0)
    found = session.studied()
    keys = [t.settings.key() for t in session.seen.trials if t.kind == "search"]
    assert keys and all(keys.count(key) <= 2 for key in keys)
    assert found.proof.winner.settings.num_workers == 0
