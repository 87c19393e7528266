from pathlib import Path

import optuna
import pytest
from optuna.trial import FixedTrial

from hotlap.settings import Settings
from search_spaces.knob import Knob
from search_spaces.space import Space
from search_spaces.suggest import grid, params_of, size, suggest

WORKERS = Knob.from_mapping("num_workers", {"choices": [0, 2]})
PREFETCH = Knob.from_mapping("prefetch_factor", {"choices": [2, 4]})
PERSISTENT = Knob.from_mapping("persistent_workers", {"choices": [False, True]})
THREADS = Knob.from_mapping("intraop_threads", {"choices": [None, 1, 2]})
CONF = Knob.from_mapping("cuda_alloc_conf", {"choices": ["", "expandable_segments:True"]})
LOADER = [WORKERS, PREFETCH, PERSISTENT]
MIXED = [*LOADER, THREADS, CONF]


def test_without_workers_their_knobs_are_no_parameters() -> None:
    for params in ({"num_workers": 0}, {"num_workers": 2, "prefetch_factor": 4,
                                        "persistent_workers": True}):  # fmt: skip
        trial = FixedTrial(params)
        settings = suggest(trial, LOADER, Settings())
        assert trial.params == params
        assert settings == Settings(**params)


def test_the_loader_space_has_one_and_four_settings_and_not_eight() -> None:
    points = list(grid(LOADER, Settings()))
    assert len(points) == size(LOADER) == 5
    assert len({point.key() for point in points}) == 5


def test_size_counts_grandchildren_and_ranges_as_grid_does() -> None:
    knobs = [
        Knob.from_mapping("num_workers", {"low": 0, "high": 7, "step": 3}),
        Knob.from_mapping("in_order", {"choices": [True, False],
                                       "when": {"knob": "num_workers", "above": 3}}),
        Knob.from_mapping("persistent_workers", {"choices": [True, False],
                                                 "when": {"knob": "in_order", "equals": False}}),
        THREADS,
    ]  # fmt: skip
    assert size(knobs) == len(list(grid(knobs, Settings()))) == 15


def test_size_of_a_huge_space_is_counted_without_walking_it() -> None:
    names = ("num_workers", "cudnn_benchmark_limit", "intraop_threads", "worker_threads")
    knobs = [Knob(name, low=1, high=1000) for name in names]
    assert size(knobs) == 1000**4


def test_params_lead_back_to_every_settings_of_the_space() -> None:
    for settings in grid(MIXED, Settings()):
        params = params_of(settings, MIXED)
        assert suggest(FixedTrial(params), MIXED, Settings()) == settings


def test_settings_outside_the_space_lead_to_a_near_point_of_it() -> None:
    params = params_of(Settings(num_workers=3, prefetch_factor=16, amp="bf16"), LOADER)
    assert params == {"num_workers": 2, "prefetch_factor": 4, "persistent_workers": False}


def test_one_and_true_are_not_mixed_up() -> None:
    params = params_of(Settings(intraop_threads=1), [THREADS])
    assert params == {"intraop_threads": 1} and params["intraop_threads"] is not True


def test_values_come_back_from_a_database_as_they_were(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(storage=storage, study_name="s")
    for settings in grid(MIXED, Settings()):
        study.enqueue_trial(params_of(settings, MIXED))
    seen = []

    def objective(trial: optuna.Trial) -> float:
        seen.append(suggest(trial, MIXED, Settings()))
        return 0.0

    study.optimize(objective, n_trials=size(MIXED))
    assert seen == list(grid(MIXED, Settings()))
    stored = optuna.load_study(storage=storage, study_name="s").trials
    back = [suggest(FixedTrial(trial.params), MIXED, Settings()) for trial in stored]
    assert back == seen


def test_a_range_whose_high_lies_between_two_steps_is_suggested_without_a_warning() -> None:
    knob = Knob.from_mapping("num_workers", {"low": 0, "high": 7, "step": 3})
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    found = {suggest(study.ask(), [knob], Settings()).num_workers for _ in range(30)}
    assert found == {0, 3, 6}


def test_optuna_refuses_choices_that_have_changed() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.tell(study.ask(), state=optuna.trial.TrialState.PRUNED)
    suggest(study.ask(), [WORKERS], Settings())
    wider = Knob.from_mapping("num_workers", {"choices": [0, 2, 4]})
    with pytest.raises(ValueError, match="dynamic value space"):
        suggest(study.ask(), [wider], Settings())


def test_a_space_hands_all_of_it_to_a_study() -> None:
    base = Settings(amp="bf16")
    space = Space(LOADER, base)
    assert space.size == 5
    assert {settings.amp for settings in space.grid()} == {"bf16"}
    assert space.suggest(FixedTrial(space.params_of(base))) == base


def test_the_nearest_point_leaves_alone_what_the_user_left_out():
    from search_spaces import Space

    base = Settings(optimizer_kernel="foreach")
    space = Space(
        [Knob("num_workers", choices=(0, 1, 4)), Knob("pin_memory", choices=(False,))], base
    )
    wanted = Settings(num_workers=8, pin_memory=True, amp="bf16", optimizer_kernel="fused")
    assert space.nearest(wanted) == Settings(num_workers=4, optimizer_kernel="foreach")


def test_a_space_within_what_is_known_has_nothing_else():
    space = Space(LOADER, Settings())
    every = list(space.grid())
    assert space.within(None) is space and space.within([*every, Settings(amp="bf16")]) is space
    part = space.within([every[1], Settings(amp="bf16"), every[0]])
    assert list(part.grid()) == [every[1], every[0]] and part.size == 2
    assert [settings for _, _, settings in part.neighbours(every[1])] == [every[0]]
    assert len(list(space.neighbours(every[1]))) == 3
