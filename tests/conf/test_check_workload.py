import pytest

from conf.check_workload import faults
from conf.sources import Sources


def wrong(config, *folders):
    sources = Sources(import_path=[str(folder) for folder in folders])
    return [str(fault) for fault in faults(config, sources)]


@pytest.fixture
def mine(tune_config, tmp_path):
    (tmp_path / "mine.py").write_text(
        "raise SystemExit('imported')\n"
        "def make(width, data=None): ...\n"
        "def needs(data): ...\n"
        "def free(**anything): ...\n"
        "def numbers(n=4, *, device): ...\n"
    )
    tune_config.data = {}
    tune_config.model = {"workload": "mine.make", "width": 3}
    return tune_config


@pytest.mark.parametrize("workload", ["make", "free"])
def test_right_arguments_pass(mine, tmp_path, workload):
    mine.model["workload"] = f"mine.{workload}"
    mine.data = {"dataset": "mine.numbers", "n": 3, "samples": "vectors"}
    assert wrong(mine, tmp_path) == []


def test_all_models_and_data_of_the_clone_fit_their_functions(ask):
    from conf.groups import options

    ran = ask("-m", f"+model={','.join(options('model'))}")
    assert ran.code == 0, ran.err
    assert len(ran.configs) == len(options("model"))


@pytest.mark.parametrize(
    ("model", "data", "texts"),
    [
        ({"width": 3, "widht": 4}, {}, ["takes no argument 'widht'", "model.width=4"]),
        ({}, {}, ["needs the argument 'width'"]),
        (
            {"workload": "mine.mak", "width": 3},
            {},
            ["defines no 'mak'", "model.workload=mine.make"],
        ),
        ({"workload": "mime.make"}, {}, ["no module 'mime'", "model.workload=mine.make"]),
        ({"workload": None, "workloda": "mine.make"}, {}, ["model has no 'workload'", "workloda"]),
        ({"workload": "mine.needs"}, {}, ["needs the argument 'data'", "data=<name>"]),
        ({"workload": "mine.numbers"}, {"dataset": "mine.numbers"}, ["no parameter 'data'"]),
        ({"width": 3}, {"dataset": "mine.numbers", "m": 4}, ["no argument 'm'", "(", "mine.py"]),
        ({"width": 3}, {"n": 4}, ["data has no 'dataset'"]),
    ],
)
def test_each_mistake_is_told_with_its_cure(mine, tmp_path, model, data, texts):
    mine.model = {"workload": "mine.make", **model}
    mine.data = data
    found = "\n".join(wrong(mine, tmp_path))
    for text in texts:
        assert text in found


def test_a_device_that_cannot_reach_the_workload_is_told(mine, tmp_path):
    mine.device = "cpu"
    (fault,) = wrong(mine, tmp_path)
    assert "has no parameter 'device'" in fault


def test_data_of_another_kind_is_refused_with_the_fitting_ones(ask):
    ran = ask("+model=resnet50", "data=text")
    assert ran.code == 2
    assert "the model takes images, and the data has text" in ran.err
    assert "resnet50.yaml, line" in ran.err and "text.yaml, line" in ran.err
    assert "data=generated_jpegs" in ran.err


def test_mistakes_in_a_users_files_come_with_file_and_line(ask, my_conf):
    my_conf(
        "model:\n  workload: my_module.make\n  widht: 3\nsampler:\n  sed: 4\n"
        "  n_startup_trials: many\nsearch_space:\n  num_workers: {hihg: 3}\n"
        "  amp: {choices: [off, bf16, fp16]}\nwindw: {max_s: 3}\n"
    )
    ran = ask("--config-dir", "my_conf", "+model=mine", "budget=soon")
    assert ran.code == 2
    for line, text in (
        (4, "takes no argument 'widht'"),
        (6, "there is no key 'sed' in sampler"),
        (7, "sampler.n_startup_trials is 'many'"),
        (9, "there is no key 'hihg' in search_space.num_workers"),
        (10, "the knob amp has the choice False"),
        (11, "there is no key 'windw' in the config"),
    ):
        assert f"{text}\n    where: my_conf/model/mine.yaml, line {line}\n" in ran.err
    assert "budget is 'soon'" in ran.err


def test_a_file_that_is_no_yaml_is_told_with_its_line(ask, my_conf):
    my_conf("model:\n  workload: my_module.make\n bad: 3\n")
    ran = ask("--config-dir", "my_conf", "+model=mine", "budget=soon")
    assert ran.code == 2
    assert "this is no YAML" in ran.err and "my_conf/model/mine.yaml, line 4" in ran.err
    assert "budget is 'soon'" in ran.err and "no model is named" not in ran.err


def test_values_left_open_are_asked_for(ask, my_conf):
    my_conf("model: {workload: my_module.make, width: '???', depth: '${no.such}'}\n")
    ran = ask("--config-dir", "my_conf", "+model=mine")
    assert ran.code == 2
    assert "model.width is ???" in ran.err and "model.depth refers to what is not there" in ran.err


def test_a_users_file_with_the_name_of_ours_is_not_passed_over_in_silence(ask, my_conf):
    my_conf(model__resnet50="model: {workload: my_module.make, width: 3}\n")
    ran = ask("--config-dir", "my_conf", "+model=resnet50")
    assert ran.code == 2
    assert "would not be read" in ran.err and "my_resnet50.yaml" in ran.err


def test_a_file_without_its_package_line_is_told_to_write_it(mine, tmp_path):
    mine.model = {"model": dict(mine.model)}
    (text,) = wrong(mine, tmp_path)
    assert "# @package _global_" in text


@pytest.mark.parametrize(
    ("word", "wrong"),
    [
        ("batch_size=-4", True),
        ("batch_size=0", True),
        ("width=0", True),
        ("batch_size=null", False),
    ],
)
def test_a_size_below_one_is_found_before_anything_is_built(ask, word, wrong):
    ran = ask("+model=digits_mlp", f"model.{word}")
    assert (ran.code == 2) is wrong, ran.err
    name, _, value = word.partition("=")
    if wrong:
        assert f"model.{name} is {value}\n" in ran.err and "a whole number from 1" in ran.err


def test_only_the_batch_of_a_users_own_workload_is_known_to_have_a_size(mine, tmp_path):
    mine.model = {"workload": "mine.free", "width": -1, "batch_size": 0}
    (fault,) = wrong(mine, tmp_path)
    assert fault.startswith("model.batch_size is 0")
