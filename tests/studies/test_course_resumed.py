"""A course that goes on: what the earlier sessions say of the baseline."""

import pytest
from replay import BASE
from simulated import STARTUP_S
from test_course import kinds
from test_search import rate

from hotlap.settings import Settings
from studies import Descent

pytestmark = pytest.mark.usefixtures("on_disk")


def test_a_resumed_study_measures_its_baseline_again_and_keeps_its_scale(replay):
    slow = {"now": 1.0}

    def machine(settings):
        return slow["now"] * rate(settings)

    first = replay(machine, budget_s=200, process_noise=0.005)
    first.studied()
    slow["now"] = 0.5  # the next day, beside another job
    second = replay(machine, budget_s=900, process_noise=0.005)
    found = second.studied()
    assert "repeat" in kinds(second) and "baseline" not in kinds(second)
    values = {t.user_attrs["number"]: t.value for t in second.ledger.trials if t.value}
    assert values[0] == pytest.approx(100, rel=0.05)
    expected = {
        t.user_attrs["number"]: rate(Settings.from_dict(t.user_attrs["settings"]))
        for t in second.ledger.trials
        if t.user_attrs["outcome"] == "ok"
    }
    off = [abs(values[n] / true - 1) for n, true in expected.items()]
    assert sorted(off)[len(off) // 2] < 0.05
    assert found.proof.winner.settings.num_workers == 2


def test_a_resumed_study_knows_where_its_baseline_waits(replay, monkeypatch):
    """One that never waits leaves the loader's knobs to the sampler, in each of its sessions."""
    shares = []

    class Noting(Descent):
        def __init__(self, space, share, *more):
            shares.append(share)
            super().__init__(space, share, *more)

    monkeypatch.setattr("studies.course.Descent", Noting)
    replay(rate, budget_s=900).studied(n_trials=4)
    replay(rate, budget_s=900).studied(n_trials=8)
    assert shares == [0.0, 0.0]


@pytest.mark.parametrize(("budget_s", "n"), [(600, 2), (90, 1)])
def test_a_resumed_study_measures_its_baseline_as_often_as_its_budget_pays(replay, budget_s, n):
    replay(rate, budget_s=600).studied(n_trials=4)
    second = replay(rate, budget_s=budget_s)
    second.studied()
    order = [trial.kind for trial in second.seen.trials]
    assert order[: n + 1] == ["repeat"] * n + ["search"]
    assert second.budget.spent() <= budget_s


def test_a_resumed_study_keeps_time_for_the_numerics_of_a_slow_start(replay):
    replay(rate, budget_s=600).studied(n_trials=4)
    assert replay(rate).search.startup_s_of(BASE) == STARTUP_S


def test_a_resumed_study_knows_its_baselines_rate(replay):
    assert replay(rate).search.rate_of(BASE) is None
    replay(rate, budget_s=600).studied(n_trials=4)
    assert replay(rate).search.rate_of(BASE) == pytest.approx(rate(BASE), rel=0.1)
