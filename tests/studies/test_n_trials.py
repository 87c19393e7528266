"""A study tries so many settings as it is asked for, and no more."""

import pytest
from replay import BASE, EXPERT
from test_search import rate


@pytest.mark.parametrize(
    ("n_trials", "tried"),
    [(1, ["baseline"]), (2, ["baseline", "expert"]), (3, ["baseline", "expert", "search"])],
)
def test_so_many_trials_as_are_asked_for_try_so_many_settings(replay, n_trials, tried):
    """The proof compares the expert with the baseline all the same, as that of any study."""
    session = replay(rate, budget_s=900, process_noise=0.01)
    found = session.studied(n_trials=n_trials)
    order = [t.kind for t in session.seen.trials]
    assert [kind for kind in order if kind in ("baseline", "expert", "search")] == tried
    assert f"all {n_trials} trials are done" in session.seen.notes
    assert ("expert" in session.seen.notes) is (n_trials > 1)  # the stage
    assert sum(session.search.n_outcomes().values()) == n_trials
    assert EXPERT.key() in {arm.settings.key() for arm in found.proof.arms}


@pytest.mark.usefixtures("on_disk")
def test_a_study_that_goes_on_counts_what_it_has_tried(replay):
    replay(rate, budget_s=900).search.first("baseline", BASE)
    session = replay(rate, budget_s=900)
    session.studied(n_trials=1)
    assert not {"expert", "search"} & {t.kind for t in session.seen.trials}
