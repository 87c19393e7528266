"""A budget that is too short for anything is told at the start, with one that would do."""

import re

import pytest
from replay import BASE
from test_search import rate

from hotlap.errors import StudyFailed
from studies.enough import BUDGETS, too_short

SECONDS = {words: seconds for seconds, words in BUDGETS}


def told(session):
    return [note for note in session.seen.notes if "is too short to try" in note]


def test_a_short_study_is_told_one_that_would_do_and_that_one_proves_something(replay, tmp_path):
    short = replay(rate, folder=tmp_path / "short", budget_s=60, process_noise=0.01)
    found = short.studied()
    assert SECONDS[found.would_do] > 60
    assert found.noise.n == sum(t.settings == BASE for t in short.seen.trials)  # none twice
    (note,) = told(short)
    assert short.seen.notes[:2] == ["baseline", note]  # before anything else was measured
    assert note.startswith("a trial takes about 8.0 s here: budget=60s is too short to try 4")
    enough_s = SECONDS[re.search(r"budget=(\w+) would do", note)[1]]
    for seed in range(5):
        folder = tmp_path / f"long-{seed}"
        long = replay(rate, folder=folder, budget_s=enough_s, process_noise=0.01, seed=seed)
        assert long.studied().proof.found_better and not told(long)


def test_what_is_asked_for_counts():
    assert too_short(120, 30, 9.0, 0.5)
    assert not too_short(120, 30, 9.0, 0.5, n_trials=3, max_rounds=2)


@pytest.mark.parametrize(
    ("n_trials", "words"),
    [
        (None, "try 4 settings and to prove the best of them;"),
        (50, "try 4 settings and to prove the best of them;"),
        (4, "try 2 settings and to prove the best of them;"),
        (3, "try 1 setting and to prove it;"),
        (2, "try what an expert would set and to prove it;"),
        (1, "try what an expert would set and to prove it;"),
    ],
)
def test_baseline_and_expert_are_trials_too(n_trials, words):
    assert f"is too short to {words}" in too_short(60, 30, 9.0, 0.5, n_trials=n_trials).sentence


@pytest.mark.parametrize(
    ("trial_s", "enough"), [(0.5, None), (3.0, "2m"), (60.0, "30m"), (1e6, "168h")]
)
def test_the_budget_that_would_do_grows_with_the_trial(trial_s, enough):
    said = too_short(60, 10 + trial_s, trial_s, 0.5)
    if enough is None:
        assert said is None
    else:
        assert said.sentence.endswith(f"budget={enough} would do") and said.would_do == enough


def test_a_baseline_that_the_budget_cuts_off_is_no_fault_of_the_workloads(replay):
    session = replay(rate, budget_s=6)
    with pytest.raises(
        StudyFailed, match=r"budget=6s is too short: .* at least budget=\w+ would do"
    ):
        session.studied()


def test_where_no_time_is_left_no_baseline_is_begun(replay):
    session = replay(rate, budget_s=6)
    session.clock.now += 6  # what the probe took
    with pytest.raises(StudyFailed, match=r"no time was left for the baseline\. .* would do"):
        session.studied()
    assert session.seen.trials == []
