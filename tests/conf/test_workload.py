import pytest

from conf.schema import TrainConfig
from conf.workload import job_of


def test_data_and_device_go_along_where_the_function_takes_them(tune_config):
    tune_config.device = "cpu"
    workload, args = job_of(tune_config)
    assert workload == "hotlap.zoo.vision.resnet50"
    assert args["data"]["dataset"] == "hotlap.zoo.images.generated_jpegs"
    assert "samples" not in args and "samples" not in args["data"] and "workload" not in args
    assert args["device"] == "cpu" and args["weight_decay"] == 0.0001


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("def make(a): ...", {"a": 1}),
        ("def make(a, device='cpu', data=None): ...", {"a": 1}),
        ("def make(a, **more): ...", {"a": 1}),
    ],
)
def test_what_was_not_chosen_stays_the_functions_own(tmp_path, function, expected):
    (tmp_path / "own.py").write_text(function)
    config = TrainConfig(model={"workload": "own.make", "a": 1}, import_path=[str(tmp_path)])
    assert job_of(config) == ("own.make", expected)
