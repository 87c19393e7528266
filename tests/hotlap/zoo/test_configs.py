import inspect
from pathlib import Path

import pytest
import yaml

import hotlap
from hotlap.zoo.data import find

CONF = Path(hotlap.__file__).parents[1] / "conf"
MODELS = sorted((CONF / "model").glob("*.yaml"))
DATA = sorted(path for path in (CONF / "data").glob("*.yaml") if path.stem != "none")
NAMES = {"resnet50", "resnet18", "vit_b_16", "gpt_small", "detector", "digits_mlp"}


def read(path):
    return yaml.safe_load(path.read_text())


def defaults(function, without=()):
    parameters = inspect.signature(function).parameters.values()
    return {
        p.name: p.default
        for p in parameters
        if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in without
    }


def test_every_workload_has_its_file():
    assert {path.stem for path in MODELS} == NAMES


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model_file_has_the_arguments_of_its_function_and_their_defaults(path):
    model = read(path)["model"]
    function = find(model.pop("workload"))
    assert function.__name__ == path.stem
    assert model.pop("samples") in ("images", "text", "vectors", "boxes")
    assert model == defaults(function, without=("data", "device"))
    assert path.read_text().startswith("# @package _global_\n")


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_models_own_data_is_of_its_kind(path):
    config = read(path)
    (override,) = config["defaults"]
    data = read(CONF / "data" / f"{override['override /data']}.yaml")
    assert data["samples"] == config["model"]["samples"]


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_a_data_file_has_the_arguments_of_its_function_and_their_defaults(path):
    data = read(path)
    function = find(data.pop("dataset"))
    assert function.__name__ == path.stem
    assert data.pop("samples") in ("images", "text", "vectors", "boxes")
    if path.stem == "resident":  # None is written out, so that it can be overridden
        assert data == {"of": {"dataset": "hotlap.zoo.images.generated_jpegs"}}
        assert set(defaults(function)) == {"of"}
    else:
        assert data == defaults(function)


def test_no_data_is_nothing():
    assert read(CONF / "data" / "none.yaml") == {}
