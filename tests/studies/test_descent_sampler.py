"""Descent in a study of anybody's own, with knobs of any name."""

import math
import re

import optuna
import pytest
from optuna.trial import TrialState

from studies import DescentSampler, RacingPruner, samplers
from tests.conftest import ROOT

WORKERS = {0: 1.0, 1: 1.5, 2: 2.0, 4: 2.4, 8: 2.2, 16: 2.0}
LAYOUT = {"rows": 1.0, "columns": 1.2}
KERNEL = {"plain": 1.0, "blocked": 0.9, "fused": 1.1}
SMALL = {"workers": WORKERS, "layout": LAYOUT, "kernel": KERNEL}
LARGE = {
    **SMALL,
    "threads": {8: 1.0, 4: 1.1, 2: 1.05, 1: 0.5},
    "cache": {False: 1.0, True: 1.02},
    "precision": {"full": 1.0, "half": 1.3, "quarter": 0.7},
}
"""36 and 864 points: knob -> choice -> what it makes of the rate."""

START = {"workers": 0, "layout": "rows", "kernel": "plain"}
WALK = [
    START,
    {**START, "workers": 1},
    {**START, "workers": 2},
    {**START, "workers": 4},
    {**START, "workers": 8},
    {**START, "workers": 4, "layout": "columns"},
    {**START, "workers": 4, "layout": "columns", "kernel": "blocked"},
    {**START, "workers": 4, "layout": "columns", "kernel": "fused"},
    {"workers": 16, "layout": "columns", "kernel": "fused"},
]
"""Of the small space: climbed while it helps, each value once; behind one that lost comes last."""


def rate_of(trial, gains=SMALL):
    values = {name: trial.suggest_categorical(name, list(of)) for name, of in gains.items()}
    return 100 * math.prod(gains[name][value] for name, value in values.items())


def study_of(sampler=None, direction="maximize", **options):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(sampler=sampler or DescentSampler(), direction=direction, **options)


def walked(study, objective=rate_of, n=9, **options):
    study.optimize(objective, n_trials=n, **options)
    return [trial.params for trial in study.trials]


def test_one_knob_at_a_time_is_changed_of_the_best_so_far():
    study = study_of()
    assert walked(study) == WALK
    walked(study, n=2)  # then the other sampler
    assert len(study.trials) == len(WALK) + 2


def test_where_less_is_better_the_walk_is_the_same():
    assert walked(study_of(direction="minimize"), lambda trial: 1 / rate_of(trial)) == WALK


def test_the_best_of_864_points_is_found_in_fewer_trials_than_tpe_needs():
    best = 100 * math.prod(max(of.values()) for of in LARGE.values())

    def n_needed(sampler, n):
        study = study_of(sampler)
        study.optimize(lambda trial: rate_of(trial, LARGE), n_trials=n)
        return next((t.number + 1 for t in study.trials if t.value == pytest.approx(best)), n + 1)

    ours = n_needed(DescentSampler(), 20)
    assert ours <= 14
    assert all(n_needed(samplers.make("tpe", seed), 2 * ours) > 2 * ours for seed in range(3))


def test_a_study_that_goes_on_walks_on():
    storage = optuna.storages.InMemoryStorage()
    for _ in WALK:
        study = study_of(storage=storage, study_name="one", load_if_exists=True)
        study.optimize(rate_of, n_trials=1)
    assert [trial.params for trial in study.trials] == WALK


def test_who_asks_while_another_trial_runs_gets_something_else():
    study = study_of()
    study.optimize(rate_of, n_trials=1)
    for _ in range(5):
        rates = {}
        for trial in (study.ask() for _ in range(2)):
            rates[trial] = rate_of(trial)
        for trial, rate in rates.items():
            study.tell(trial, rate)
    params = [trial.params for trial in study.trials]
    assert params == [p for i, p in enumerate(params) if p not in params[:i]]
    assert study.best_params == WALK[7]


def test_what_fails_or_is_pruned_has_lost_and_is_not_tried_again():
    def objective(trial):
        rate = rate_of(trial)
        if trial.params["layout"] == "columns":
            raise optuna.TrialPruned
        if trial.params["kernel"] == "fused":
            raise RuntimeError("no such kernel here")
        return rate

    params = walked(study := study_of(), objective, n=9, catch=RuntimeError)
    assert [(p["layout"], p["kernel"]) for p in params].count(("columns", "plain")) == 1
    assert [(p["layout"], p["kernel"]) for p in params].count(("rows", "fused")) == 1
    assert study.best_params == {**START, "workers": 4}
    assert params == [p for i, p in enumerate(params) if p not in params[:i]]


def test_a_baseline_that_fails_leaves_the_expert_to_begin_with():
    def objective(trial):
        rate = rate_of(trial)
        if trial.params == START:
            raise RuntimeError("out of memory")
        return rate

    sampler = DescentSampler(expert={"workers": 4})
    params = walked(study_of(sampler), objective, n=3, catch=RuntimeError)
    assert params[:2] == [START, {**START, "workers": 4}]
    assert params[2] == {**START, "workers": 2}  # and goes on from there


def test_baseline_expert_and_order_are_as_given():
    given = DescentSampler({"workers": 2, "kernel": "fused"}, {"layout": "columns"}, ["kernel"])
    params = walked(study_of(given), n=3)
    assert params[0] == {"workers": 2, "layout": "rows", "kernel": "fused"}
    assert params[1] == {**params[0], "layout": "columns"}
    assert params[2] == {**params[1], "kernel": "plain"}


def test_a_value_that_is_no_choice_is_named_with_those_that_are():
    with pytest.raises(ValueError, match=r"workers is to be 3; its choices are \(0, 1, 2, 4"):
        study_of(DescentSampler({"workers": 3})).optimize(rate_of, n_trials=1)


def test_a_knob_that_only_some_trials_have_is_walked_where_it_means_something():
    def objective(trial):
        workers = trial.suggest_categorical("workers", [0, 2, 4])
        ahead = trial.suggest_categorical("ahead", [2, 4, 8]) if workers else 0
        return workers + ahead / 100 + trial.suggest_categorical("cache", [0, 1])

    params = walked(study_of(), objective, n=6)
    assert params == [
        {"workers": 0, "cache": 0},
        {"workers": 2, "ahead": 2, "cache": 0},
        {"workers": 4, "ahead": 2, "cache": 0},
        {"workers": 4, "ahead": 2, "cache": 1},
        {"workers": 4, "ahead": 4, "cache": 1},
        {"workers": 4, "ahead": 8, "cache": 1},
    ]


def test_what_is_drawn_from_a_range_stays_and_is_the_other_samplers_later():
    def objective(trial):
        return rate_of(trial) - trial.suggest_float("x", 0, 1) - trial.suggest_int("n", 0, 9)

    params = walked(study_of(DescentSampler({"x": 0.25, "n": 3})), objective, n=len(WALK) + 3)
    assert {(p["x"], p["n"]) for p in params[: len(WALK)]} == {(0.25, 3)}
    assert len({p["x"] for p in params}) == 4


@pytest.mark.parametrize(
    ("share", "first", "then"),
    [(None, "layout", "kernel"), (0.5, "workers", "layout"), (0.02, "layout", "kernel")],
)
def test_what_brings_data_comes_first_while_they_bind(share, first, then):
    def objective(trial):
        rate = rate_of(trial, {"layout": LAYOUT, "kernel": KERNEL, "workers": {0: 1, 1: 2}})
        if share is not None:
            trial.set_user_attr("data_wait_share", 0.0 if trial.params["workers"] else share)
        return rate

    params = walked(study_of(DescentSampler(loader=("workers",))), objective, n=3)
    assert params[1][first] != params[0][first]
    assert params[2][then] != params[1][then]


def test_the_other_sampler_may_be_a_walk_of_all_that_is_left():
    study = study_of(DescentSampler(then=samplers.make("brute_force")), pruner=RacingPruner())
    params = walked(study, n=60)
    assert params[: len(WALK)] == WALK
    assert len(params) == 36 and all(t.state == TrialState.COMPLETE for t in study.trials)
    assert len({tuple(p.values()) for p in params}) == 36


def test_the_pages_example_finds_what_is_best_there(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/search.md").read_text(), re.S)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    scope = {}
    exec(compile(code, "docs/search.md", "exec"), scope)
    best = {"num_workers": 4, "layout": "columns", "kernel": "fused"}
    assert capsys.readouterr().out == f"{best}\n"
    states = [trial.state for trial in scope["study"].trials]
    assert states.count(TrialState.PRUNED) > 0 and len(states) == 15


@pytest.mark.parametrize("given", [{"expert": {"n": 7}}, {"baseline": {"n": 1}}])
def test_a_number_that_its_range_does_not_hold_is_an_error(given):
    study = study_of(DescentSampler(**given))
    with pytest.raises(ValueError, match="n is to be .; its range is 2 to 16 in steps of 2"):
        study.optimize(lambda trial: trial.suggest_int("n", 2, 16, step=2), n_trials=3)


def test_whoever_joins_a_study_draws_other_numbers():
    storage = optuna.storages.InMemoryStorage()
    first = study_of(DescentSampler(seed=1), storage=storage, study_name="shared")
    first.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    drawn = []
    for _ in range(2):
        joined = optuna.load_study(
            study_name="shared", storage=storage, sampler=DescentSampler(seed=1)
        )
        drawn.append(joined.ask().suggest_float("x", 0, 1))
    assert drawn[0] != drawn[1]
