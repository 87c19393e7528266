import math
import subprocess
import sys

import optuna
import pytest

from hotlap.errors import UserInputError
from hotlap.settings import Settings
from search_spaces.knob import Knob
from search_spaces.suggest import size, suggest
from studies.samplers import NAMES, make

SPACE = [
    Knob.from_mapping("num_workers", {"choices": [0, 1, 2, 4]}),
    Knob.from_mapping("prefetch_factor", {"choices": [2, 4, 8]}),
    Knob.from_mapping("intraop_threads", {"choices": [None, 1, 2]}),
    Knob.from_mapping("memory_format", {"choices": ["contiguous", "channels_last"]}),
]


def speed(settings: Settings) -> float:
    """Two workers are best, but only with one thread; a deeper queue helps them a little."""
    value = 100.0 + 50.0 * (settings.memory_format == "channels_last")
    if settings.num_workers == 2 and settings.intraop_threads == 1:
        value += 100.0 + 10 * math.log2(settings.prefetch_factor)
    return value


def best(name: str, n_trials: int, seed: int = 0) -> float:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=make(name, seed))
    study.optimize(lambda trial: speed(suggest(trial, SPACE, Settings())), n_trials=n_trials)
    return study.best_value


@pytest.mark.parametrize("name", NAMES)
def test_every_sampler_walks_a_conditional_space_without_a_warning(name: str) -> None:
    assert best(name, 12) > 0


def test_brute_force_meets_each_settings_once_and_leaves_an_asked_study_to_itself() -> None:
    study = optuna.create_study(direction="maximize", sampler=make("brute_force"))
    seen = []
    for _ in range(size(SPACE)):
        trial = study.ask()
        seen.append(suggest(trial, SPACE, Settings()))
        study.tell(trial, speed(seen[-1]))
    assert len(set(seen)) == size(SPACE) == 60
    assert study.best_value == 280.0
    again = suggest(study.ask(), SPACE, Settings())  # nothing new is left
    assert again in seen


def test_brute_force_ends_a_study_that_is_optimized() -> None:
    study = optuna.create_study(direction="maximize", sampler=make("brute_force"))
    objective = lambda trial: speed(suggest(trial, SPACE[2:], Settings()))  # noqa: E731
    study.optimize(objective, n_trials=20)
    assert len(study.trials) == size(SPACE[2:]) == 6


def test_tpe_learns_a_conditional_space_better_than_chance() -> None:
    seeds = range(10)
    tpe = sum(best("tpe", 40, seed) for seed in seeds) / len(seeds)
    chance = sum(best("random", 40, seed) for seed in seeds) / len(seeds)
    assert tpe >= chance
    assert tpe > 265.0


def test_the_same_seed_searches_the_same_way() -> None:
    def params(seed: int) -> list[dict[str, object]]:
        study = optuna.create_study(sampler=make("tpe", seed))
        study.optimize(lambda t: speed(suggest(t, SPACE, Settings())), n_trials=15)
        return [trial.params for trial in study.trials]

    assert params(3) == params(3) != params(4)


def test_an_unknown_sampler_is_a_sentence_with_what_to_type() -> None:
    with pytest.raises(UserInputError) as caught:
        make("tp", 0)
    assert str(caught.value) == (
        "sampler.name: there is no sampler 'tp'; did you mean 'tpe'?; "
        "write sampler=tpe or sampler=gp or sampler=random or sampler=brute_force"
    )


def test_only_the_gaussian_process_needs_torch_and_only_when_it_proposes() -> None:
    code = (
        "import sys; from studies.samplers import NAMES, make; "
        "[make(name) for name in NAMES]; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
