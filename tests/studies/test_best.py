"""Which of the trials the search takes for the best, and hands on to the proof."""

import statistics

import pytest
from replay import BASE, EXPERT
from test_search import rate

from hotlap.settings import Settings


@pytest.fixture
def lucky(replay):
    """A study whose baseline's first run shows `first` by chance, not 100; two workers make 120."""

    def session(first):
        sessions = []

        def lucky_once(settings):
            if settings.key() == BASE.key():
                return first if len(sessions[0].runner.ran) == 1 else 100.0
            return 120.0 if settings.num_workers == 2 else 90.0

        sessions.append(replay(lucky_once, budget_s=900, process_noise=0.002))
        return sessions[0]

    return session


def test_a_baseline_that_was_lucky_once_is_not_the_best(lucky):
    study = lucky(140.0)
    found = study.studied()
    assert next(iter(study.search.best(1).values())).num_workers == 2
    assert found.ablation is not None and found.proof.winner.settings.num_workers == 2


def test_the_searchs_own_figure_is_over_all_runs_of_the_baseline(lucky):
    study = lucky(130.0)
    found = study.studied()
    runs = [t.value for t in study.seen.trials if t.kind in ("baseline", "repeat")]
    assert len(runs) >= 3 and runs[0] == pytest.approx(130, rel=0.02)
    assert found.searched == pytest.approx(120 / statistics.geometric_mean(runs), rel=0.02)


def test_baseline_and_expert_take_no_place_of_those_that_are_to_be_proven(replay):
    """They are in the proof anyway."""

    def above(settings):
        return 400.0 if settings.key() == EXPERT.key() else rate(settings)

    session = replay(above, budget_s=1e6)
    session.searched(n_trials=20)
    best = session.search.best(2)
    assert list(best)[0] == "trial 1" and list(best.values())[0] == EXPERT
    assert len(best) == 3 and BASE.key() not in {settings.key() for settings in best.values()}
    assert list(session.search.best(1)) == list(best)[:2]


def test_what_an_earlier_session_has_proven_is_tried_first_and_stands_for_the_proof(replay):
    """It may be a part of a trial, and so no trial itself."""
    replay(rate, budget_s=1e6).searched(n_trials=6)
    proven = Settings(num_workers=1, pin_memory=True)
    session = replay(rate, budget_s=1e6, pruner="none", search={"proven": proven})
    session.searched(n_trials=30)
    assert session.runner.ran[0] == proven
    best = list(session.search.best(2).values())
    assert best[-1] == proven and all(settings.num_workers == 2 for settings in best[:-1])
    assert [s.key() for s in session.search.best(30).values()].count(proven.key()) == 1
