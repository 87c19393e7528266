import dataclasses
import math

import pytest

from conf.check import faults
from conf.check_number import COMMON_RANGES, TRAIN_RANGES, TUNE_RANGES
from conf.schema import Common, TrainConfig, TuneConfig
from conf.sources import Sources


def wrong(config):
    return [str(fault) for fault in faults(config, Sources())]


def put(config, key, value):
    *holders, name = key.split(".")
    for holder in holders:
        config = getattr(config, holder)
    setattr(config, name, value)


def test_the_default_config_is_right(tune_config):
    assert wrong(tune_config) == []


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("window.max_s", 0, "more than 0"),
        ("window.min_s", 9, "no longer than the longest"),
        ("window.block_s", 9, "several blocks"),
        ("window.precision", 1.0, "between 0 and 1"),
        ("window.max_warmup_s", -1, "0 or more"),
        ("sampler.n_startup_trials", -1, "0 or more"),
        ("sampler.name", "gpp", "did you mean 'gp'?"),
        ("sampler.seed", -1, "from 0"),
        ("pruner.name", "raceing", "did you mean 'racing'?"),
        ("pruner.error", 1.5, "between 0 and 1"),
        ("tracking.name", "wandb", "one of mlflow, none"),
        ("tracking.experiment", " ", "a name"),
        ("objective.name", "speed", "one of run_time, throughput"),
        ("objective.direction", "minimize", "more samples"),
        ("objective.direction", "up", "maximize"),
        ("run.epochs", 0, "more than 0"),
        ("run.n_samples", 0, "from 1"),
        ("runner.name", "proces", "did you mean 'process'?"),
        ("constraints.device_memory", 1.2, "at most 1"),
        ("confirm.n_best", 0, "from 1"),
        ("confirm.max_rounds", 0, "from 1"),
        ("n_trials", 0, "from 1"),
        ("numerics", "exakt", "did you mean 'exact'?"),
        ("budget", "10", "with their letters"),
        ("budget", "1s", "some minutes"),
        ("device", "gpu", "cuda"),
        ("seed", -1, "from 0"),
        ("freeze", "/", "the YAML file"),
    ],
)
def test_each_value_out_of_its_range_is_one_fault(tune_config, key, value, right):
    put(tune_config, key, value)
    (fault,) = wrong(tune_config)
    assert key in fault and right in fault and "type:" in fault


def test_what_is_to_be_typed_for_a_long_window_is_right(tune_config):
    """To six digits it lay below the shortest window again."""
    put(tune_config, "window.min_s", 1234.5674)
    (fault,) = wrong(tune_config)
    assert fault.endswith("type:  window.max_s=1234.5674")
    put(tune_config, "window.max_s", 1234.5674)
    assert not wrong(tune_config)


def numbers(config, at=""):
    """The keys of all numbers that the types know."""
    for part in dataclasses.fields(config):
        value, hint = getattr(config, part.name), str(part.type)
        if dataclasses.is_dataclass(value):
            yield from numbers(value, f"{at}{part.name}.")
        elif part.type in (int, float) or "Optional[float]" in hint or "Optional[int]" in hint:
            yield f"{at}{part.name}"


@pytest.mark.parametrize("key", [*numbers(TuneConfig())])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e300, 10**400])
def test_no_number_is_without_end(tune_config, key, value):
    put(tune_config, key, value)
    (fault,) = wrong(tune_config)
    assert fault.startswith(f"{key} is ") and "at most 1e+15" in fault and f"type:  {key}=" in fault


@pytest.mark.parametrize("key", [*numbers(TrainConfig())])
def test_no_number_of_a_full_run_is_without_end(tune_config, key):
    given = {field.name: getattr(tune_config, field.name) for field in dataclasses.fields(Common)}
    config = TrainConfig(**given)
    put(config, key, math.inf)
    (fault,) = wrong(config)
    assert fault.startswith(f"{key} is inf") and "at most 1e+15" in fault


def test_a_setting_is_no_larger_than_any_count(tune_config):
    tune_config.settings["intraop_threads"] = 10**30
    (fault,) = wrong(tune_config)
    assert "at most 2147483647" in fault and "type:  settings.intraop_threads=null" in fault


def test_every_range_speaks_of_a_key_that_exists():
    configs = {TUNE_RANGES: TuneConfig, TRAIN_RANGES: TrainConfig, COMMON_RANGES: TrainConfig}
    for ranges, kind in configs.items():
        for allowed in ranges:
            value = kind()
            for part in allowed.key.split("."):
                value = getattr(value, part)
            assert allowed.fits(value)
            assert allowed.fits(float(allowed.example))


def test_settings_are_checked_with_near_names_and_the_yaml_trap(tune_config):
    tune_config.settings |= {"amp": False, "num_wokers": 3, "prefetch_factor": 0}
    text = "\n".join(wrong(tune_config))
    assert "write none" in text
    assert "settings.num_workers=3" in text
    assert "whole number from 1" in text
