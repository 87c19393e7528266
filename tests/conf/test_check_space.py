import pytest

from conf.check_space import faults
from conf.schema import Knob, When
from conf.sources import Sources

RANGE = {"low": 0, "high": 4}


def wrong(config, **knobs):
    config.search_space = {name: Knob(**fields) for name, fields in knobs.items()}
    return [str(fault) for fault in faults(config, Sources())]


@pytest.mark.parametrize(
    "fields",
    [
        {"low": 0, "high": 4},
        {"low": "auto", "high": 4, "step": 2},
        {"low": 1, "high": 8, "log": True},
        {"choices": [0, 2, 4], "choice_requires": {"4": ["several_cores"]}},
        {"choices": "auto", "requires": ["loader"]},
    ],
)
def test_sound_knobs_pass(tune_config, fields):
    assert wrong(tune_config, num_workers=fields) == []


@pytest.mark.parametrize(
    ("name", "fields", "text"),
    [
        ("num_workers", {}, "no low and high and no choices"),
        ("num_workers", {"low": 1}, "has no high"),
        ("num_workers", {"choices": [1], **RANGE}, "has choices and a range"),
        ("num_workers", {"low": 5, "high": 4}, "more than high"),
        ("num_workers", {"low": -1, "high": 4}, "whole number from 0"),
        ("num_workers", {"low": 0, "high": 2.5}, "high of the knob num_workers is 2.5"),
        ("num_workers", {"low": 0, "high": 10**400}, "a whole number from 0 to 2147483647"),
        ("num_workers", {"choices": [0, 10**30]}, "at most 2147483647"),
        ("num_workers", {**RANGE, "step": 0}, "whole number from 1"),
        ("num_workers", {"low": 1, "high": 4, "step": 1, "log": True}, "step and log"),
        ("num_workers", {**RANGE, "log": True}, "logarithmic scale from 0"),
        ("num_workers", {"choices": []}, "one choice at least"),
        ("num_workers", {"choices": [1, "two"]}, "the choice 'two'"),
        ("num_workers", {"choices": [1, 1]}, "a choice twice"),
        ("num_workers", {**RANGE, "numerics": "exakt"}, "numerics=exact"),
        ("num_workers", {**RANGE, "requires": ["lodaer"]}, "did you mean 'loader'?"),
        ("amp", {"choices": ["none", "bf61"]}, "did you mean 'bf16'?"),
        ("amp", {"choices": [False, "bf16"]}, "write none"),
        ("amp", {"low": 0, "high": 1}, "amp is no number"),
        ("amp", {"choices": ["none"], "choice_requires": {"bf61": ["bf16"]}}, "is no choice"),
        ("num_worker", RANGE, "did you mean 'num_workers'?"),
        ("num_workers", {**RANGE, "when": When("num_workers", above=0)}, "which is itself"),
        ("num_workers", {**RANGE, "when": When("pin_memry", equals=True)}, "'pin_memory'?"),
        ("num_workers", {**RANGE, "when": When("pin_memory")}, "neither above nor equals"),
        ("num_workers", {**RANGE, "when": When("prefetch_factor", 1, 1)}, "both above and"),
        ("num_workers", {**RANGE, "when": When("amp", above=0)}, "is above 0"),
        ("num_workers", {**RANGE, "when": When("amp", equals="bf61")}, "equals 'bf61'"),
    ],
)
def test_each_mistake_of_a_knob_is_one_fault(tune_config, name, fields, text):
    (fault,) = wrong(tune_config, **{name: fields})
    assert text in fault and "right:" in fault


def test_a_choice_that_was_left_out_needs_nothing(ask):
    knob = "search_space.multiprocessing_context"
    ran = ask("+model=digits_mlp", f"{knob}.choices=[default,spawn]")
    assert ran.code == 0, ran.err
    ran = ask("+model=digits_mlp", f"+{knob}.choice_requires.spwan=[picklable_dataset]")
    assert ran.code == 2 and "names 'spwan', which is no choice" in ran.err


def test_an_empty_space_is_refused(tune_config):
    (fault,) = wrong(tune_config)
    assert "the search space is empty" in fault


def test_a_condition_may_name_a_setting_that_is_not_sampled(tune_config):
    knob = {"low": 2, "high": 4, "when": When("num_workers", above=0)}
    assert wrong(tune_config, prefetch_factor=knob) == []


def test_the_same_knob_in_two_chosen_files_is_refused_with_both(ask, my_conf):
    my_conf(search_space__workers="num_workers: {low: 0, high: 4}\n")
    ran = ask("--config-dir", "my_conf", "+model=mine", "search_space=[dataloader,workers]")
    assert ran.code == 2
    assert "2 chosen files define the knob num_workers" in ran.err
    assert "dataloader.yaml, line" in ran.err
    assert "my_conf/search_space/workers.yaml, line 1" in ran.err


def test_choices_typed_go_before_a_range_in_the_file(ask, my_conf):
    my_conf(search_space__workers="num_workers: {low: 0, high: 4}\n")
    ran = ask(
        "--config-dir",
        "my_conf",
        "+model=mine",
        "search_space=workers",
        "search_space.num_workers.choices=[0,2]",
    )
    assert ran.code == 0, ran.err
    knob = ran.configs[0].search_space["num_workers"]
    assert knob.choices == [0, 2] and knob.low is None and knob.high is None
