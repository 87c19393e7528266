"""A study goes on in a second session over the same folder, whatever ended the first one."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from optuna.trial import TrialState
from replay import KNOBS

from hotlap.errors import UserInputError
from tests.conftest import ROOT

HERE = Path(__file__).parent

pytestmark = pytest.mark.usefixtures("on_disk")


def rate(settings):
    return 100.0 * (1 + settings.num_workers)


def test_a_second_session_goes_on_where_the_first_one_stopped(replay, rows):
    first = replay(rate, budget_s=1e6)
    first.searched(n_trials=6)
    second = replay(rate, budget_s=1e6)
    assert second.searched(n_trials=10) == "all 10 trials are done"
    assert [t.number for t in second.seen.trials] == [6, 7, 8, 9]
    assert all(t.kind == "search" for t in second.seen.trials)  # no baseline or expert anew
    assert len(rows()) == 10
    keys = [settings.key() for settings in first.runner.ran + second.runner.ran]
    assert len(set(keys)) == 10
    assert sum(second.search.n_outcomes().values()) == 10


def test_n_trials_is_a_total(replay):
    replay(rate, budget_s=1e6).searched(n_trials=6)
    session = replay(rate, budget_s=1e6)
    assert session.searched(n_trials=6) == "all 6 trials are done"
    assert not session.runner.ran


def test_the_best_of_the_first_session_is_a_candidate_of_the_second(replay):
    first = replay(rate, budget_s=1e6)
    first.searched(n_trials=20)
    best = first.search.best(2)
    second = replay(rate, budget_s=1e6)
    second.searched(n_trials=20)
    assert second.search.best(2) == best
    proof = second.proven()
    assert proof.winner.name in best


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_a_second_session_draws_other_settings_than_the_first(replay, sampler):
    replay(rate, budget_s=1e6, sampler=sampler).searched(n_trials=12)
    session = replay(rate, budget_s=1e6, sampler=sampler)
    proposals = [session.space.suggest(session.ledger.study.ask()).key() for _ in range(8)]
    seen = {t.user_attrs["number"]: t for t in session.ledger.trials}
    first = [dict(seen[i].user_attrs["settings"]) for i in range(2, 10)]
    assert [dict(p) for p in proposals] != first


def test_racing_knows_the_rivals_of_the_first_session(replay):
    replay(lambda s: 1000.0, budget_s=1e6).searched(n_trials=4)
    session = replay(lambda s: 300.0, budget_s=1e6)
    session.searched(n_trials=8)
    assert set(session.outcomes("search")) == {"pruned"}


def test_another_search_space_is_refused_with_what_differs_and_what_to_do(replay, rows):
    replay(rate).searched(n_trials=3)
    wider = {**KNOBS, "num_workers": {"choices": [0, 1, 2, 4, 8]}}
    with pytest.raises(UserInputError) as caught:
        replay(rate, knobs=wider)
    text = str(caught.value)
    assert "search_space.num_workers was [0, 1, 2, 4] and is [0, 1, 2, 4, 8]" in text
    assert "pin_memory" not in text
    assert "leave out resume= to start a new study" in text
    assert len(rows()) == 3


def test_a_knob_more_is_named_too(replay):
    replay(rate).searched(n_trials=3)
    more = {**KNOBS, "cudnn_benchmark": {"choices": [False, True]}}
    with pytest.raises(UserInputError, match="search_space.cudnn_benchmark was not there and is"):
        replay(rate, knobs=more)


def test_ctrl_c_in_a_trial_loses_that_trial_only(replay, rows):
    session = replay(rate, budget_s=1e6, interrupt_at=4)
    with pytest.raises(KeyboardInterrupt):
        session.searched()
    assert [t.user_attrs["number"] for t in rows()] == [0, 1, 2, 3]
    second = replay(rate, budget_s=1e6)
    second.searched(n_trials=6)
    # Trial 4 left a folder, so its number is not given again.
    assert [t.user_attrs["number"] for t in rows()] == [0, 1, 2, 3, 5, 6]
    assert all(t.state in (TrialState.COMPLETE, TrialState.PRUNED) for t in rows())


def test_ctrl_c_while_proving_keeps_the_search(replay, rows):
    session = replay(rate, budget_s=1e6, interrupt_at=10)
    session.searched(n_trials=8)
    with pytest.raises(KeyboardInterrupt):
        session.proven()
    assert len(rows()) == 8
    second = replay(rate, budget_s=1e6)
    second.searched(n_trials=8)
    assert not second.runner.ran
    assert second.proven().found_better


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
from replay import Replay

session = Replay(Path(sys.argv[3]), lambda settings: 100.0, budget_s=1e6)
train = session.runner._train
def last(*args):
    if len(session.runner.ran) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    train(*args)
session.runner._train = last
session.searched()
"""


def test_a_tuner_killed_in_a_trial_leaves_no_trial_running(replay, rows, tmp_path):
    words = [sys.executable, "-c", KILLED, str(ROOT), str(HERE), str(tmp_path / "study")]
    assert subprocess.run(words, timeout=120).returncode == -signal.SIGKILL
    assert [t.state for t in rows()] == [TrialState.COMPLETE] * 3
    session = replay(rate, budget_s=1e6)
    assert session.searched(n_trials=5) == "all 5 trials are done"
    assert len(rows()) == 5
