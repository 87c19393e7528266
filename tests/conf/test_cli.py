import json
import subprocess
import sys
from pathlib import Path

import pytest

from conf.cli import split_script_args
from hotlap.errors import StudyFailed, UserInputError

REPO = Path(__file__).resolve().parents[2]


def test_no_argument_names_the_models(ask):
    ran = ask()
    assert ran.code == 2
    assert "no model is named" in ran.err
    assert "resnet18" in ran.err and "gpt_small" in ran.err
    assert "python tune.py +model=" in ran.err


def test_a_model_brings_its_data_and_leaves_nothing_in_the_folder(ask, tmp_path):
    ran = ask("+model=resnet50")
    assert ran.code == 0
    (config,) = ran.configs
    assert config.model["workload"] == "hotlap.zoo.vision.resnet50"
    assert config.data["samples"] == "images"
    assert config.import_path == [str(tmp_path)]
    assert "workload: hotlap.zoo.vision.resnet50" in ran.texts[0]
    assert list(tmp_path.iterdir()) == []


def test_the_plus_may_be_forgotten_or_too_much(ask):
    assert ask("model=resnet50", "+sampler=gp").configs[0].sampler.name == "gp"


@pytest.mark.parametrize(
    "word",
    [
        "hydra.run.dir=elsewhere",
        "hydra.mode=MULTIRUN",
        "hydra/launcher=joblib",
        "hydra.searchpath=[x]",
    ],
)
def test_a_setting_of_hydras_own_without_effect_is_refused(ask, word):
    ran = ask("+model=resnet50", word)
    assert ran.code == 2 and not ran.configs
    assert f"command line: {word}" in ran.err
    assert "has no effect here" in ran.err and "outputs/<name>/<time>" in ran.err


def test_all_mistakes_come_at_once_each_with_its_cure(ask):
    ran = ask(
        "+model=resnet5",
        "smapler=gp",
        "budget=soon",
        "window.max_s=-1",
        "sampler.seed=x",
        "resnet18",
    )
    assert ran.code == 2 and not ran.configs
    assert ran.err.startswith("6 mistakes")
    for text in (
        "there is no model 'resnet5'",
        "type:  +model=resnet50",
        "command line: smapler=gp",
        "type:  sampler=gp",
        "budget is 'soon'",
        "window.max_s is -1",
        "it takes a whole number",
        "type:  +model=resnet18",
    ):
        assert text in ran.err


def test_help_has_examples_groups_and_keys(ask):
    ran = ask("--help")
    assert ran.code == 0
    for text in ("tune.py searches", "--config-dir", "model   ", "resnet50", "tpe", "budget: 10m"):
        assert text in ran.out


def test_help_of_train_has_no_search_space(ask):
    ran = ask("--help", primary="train")
    assert "train.py trains" in ran.out and "search_space" not in ran.out


def test_cfg_job_shows_the_config_and_runs_nothing(ask):
    ran = ask("+model=resnet50", "budget=3m", "--cfg", "job")
    assert ran.code == 0 and not ran.configs
    assert "workload: hotlap.zoo.vision.resnet50" in ran.out and "budget: 3m" in ran.out


def test_cfg_job_refuses_what_cannot_be_composed(ask):
    ran = ask("+model=resnet50", "budgt=3m", "--cfg", "job")
    assert ran.code == 2 and "did you mean 'budget'?" in ran.err


def test_several_search_spaces_can_be_chosen(ask):
    space = ask("+model=resnet50", "search_space=[dataloader,amp]").configs[0].search_space
    assert "num_workers" in space and "amp" in space and "memory_format" not in space


def test_a_bound_of_a_knob_can_be_typed(ask):
    knob = (
        ask("+model=resnet50", "search_space.num_workers.high=4")
        .configs[0]
        .search_space["num_workers"]
    )
    assert knob.high == 4 and knob.choices is None


def test_a_knob_can_be_taken_out(ask):
    assert "pin_memory" in ask("+model=resnet50").configs[0].search_space
    ran = ask("+model=resnet50", "~search_space.pin_memory")
    assert "pin_memory" not in ran.configs[0].search_space


def test_a_folder_of_ones_own_holds_models_in_any_order_of_words(ask, my_conf):
    folder = my_conf()
    ran = ask("+model=mine", "--config-dir", "my_conf", "budget=1h30m")
    assert ran.code == 0, ran.err
    assert ran.configs[0].model == {"workload": "my_module.make", "width": 3}
    assert ran.configs[0].import_path == [str(folder.parent)]


def test_multirun_runs_one_study_after_another(ask):
    ran = ask("-m", "+model=resnet18,gpt_small", "seed=1,2")
    assert ran.code == 0, ran.err
    jobs = [(c.model["workload"].rpartition(".")[2], c.seed) for c in ran.configs]
    assert jobs == [("resnet18", 1), ("resnet18", 2), ("gpt_small", 1), ("gpt_small", 2)]


def test_a_failed_study_does_not_stop_the_next_and_the_worst_code_counts(ask, capsys):
    def task(config):
        if "resnet18" in config.model["workload"]:
            raise StudyFailed("the baseline crashed")
        if "gpt" in config.model["workload"]:
            raise ZeroDivisionError("a bug")
        return 0

    ran = ask("-m", "+model=resnet18,gpt_small,resnet50", task=task)
    assert len(ran.configs) == 3 and ran.code == 1
    assert "the baseline crashed" in ran.err and "ZeroDivisionError" in ran.err


def test_wrong_input_found_by_a_study_is_code_2(ask):
    def task(config):
        raise UserInputError("there is no such image folder")

    assert ask("+model=resnet18", task=task).code == 2


def test_an_interrupt_stops_the_sweep_with_code_130(ask):
    def task(config):
        raise KeyboardInterrupt

    ran = ask("-m", "+model=resnet18,gpt_small", task=task)
    assert ran.code == 130 and len(ran.configs) == 1


def test_one_mistake_in_a_sweep_stops_it_before_the_first_study(ask):
    ran = ask("-m", "+model=resnet18,gpt_smal")
    assert ran.code == 2 and not ran.configs
    assert ran.err.startswith("1 mistake ") and "gpt_small" in ran.err


@pytest.mark.parametrize(
    ("word", "cure"),
    [
        ("+model=resnet18,resnet50", "-m +model=resnet18,resnet50"),
        ("search_space=dataloader,amp", "search_space=[dataloader,amp]"),
        ("+model=[resnet18,resnet50]", "-m +model=resnet18,resnet50"),
        ("search_space=[dataloader,ampp]", "search_space=[dataloader,amp]"),
        ("data=null", "data=none"),
        ("num_workers=4", "settings.num_workers=4"),
        ("search_space.num_wokers.high=4", "search_space.num_workers.high=4"),
        ("~search_space.pin_memry", "~search_space.pin_memory"),
        ("+budget=4m", "budget=4m"),
        ("sampler.sed=3", "sampler.seed=3"),
        ("settings.amp=nonee", "settings.amp=none"),
        ("model.batchsize=3", "model.batch_size=3"),
        ("search_space=[dataloader", "search_space="),
    ],
)
def test_a_wrong_word_is_told_with_the_right_one(ask, word, cure):
    model = () if "model=" in word else ("+model=resnet50",)
    ran = ask(*model, word)
    assert ran.code == 2
    assert ran.err.startswith("1 mistake "), ran.err
    assert f"type:  {cure}" in ran.err or f"type:  '{cure}" in ran.err


def test_paths_and_addresses_need_no_quotes(ask):
    ran = ask("+model=resnet50", "freeze=a=b,c d.yaml", "tracking.uri=http://host?a=b")
    assert ran.configs[0].freeze == "a=b,c d.yaml"
    assert ran.configs[0].tracking.uri == "http://host?a=b"


def test_what_follows_two_dashes_is_not_ours():
    words = ["+model=x", "--", "--lr", "0.1", "--", "a=b,c"]
    assert split_script_args(words) == (["+model=x"], ["--lr", "0.1", "--", "a=b,c"])


def test_script_arguments_without_a_script_are_refused(ask):
    ran = ask("+model=resnet50", "--", "--lr", "0.1")
    assert ran.code == 2 and "--lr 0.1" in ran.err


def test_unknown_flags_and_folders_are_told(ask, my_conf):
    my_conf()
    ran = ask("+model=mine", "--config-dir", "my_con", "--lr", "0.1")
    assert ran.code == 2
    assert ran.err.startswith("2 mistakes")
    assert "--config-dir my_conf" in ran.err and "type:  lr=0.1" in ran.err


def test_train_has_its_own_keys_and_says_what_is_not_its(ask):
    ran = ask("+model=resnet50", "epochs=3", "settings.num_workers=2", primary="train")
    assert ran.configs[0].epochs == 3 and ran.configs[0].settings["num_workers"] == 2
    ran = ask("+model=resnet50", "search_space=[amp]", "epochs=0", primary="train")
    assert ran.code == 2
    assert "this command has no 'search_space'" in ran.err and "epochs is 0" in ran.err


def test_mistakes_are_found_before_torch_optuna_and_mlflow_are_imported(tmp_path):
    script = tmp_path / "front.py"
    script.write_text(
        "import json, sys\n"
        f"sys.path.insert(0, {str(REPO)!r})\n"
        "from conf.cli import main\n"
        "code = main(sys.argv[1:], 'config', lambda config, text: 0)\n"
        "heavy = {'torch', 'torchvision', 'optuna', 'mlflow', 'numpy'} & set(sys.modules)\n"
        "print(json.dumps(sorted(heavy)))\n"
        "sys.exit(code)\n"
    )
    words = ["+model=resnet50", "budget=soon", "smapler=gp", "data=text"]
    done = subprocess.run(
        [sys.executable, str(script), *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert json.loads(done.stdout) == []
    assert done.stderr.startswith("3 mistakes")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["front.py"]


def test_a_primary_config_of_ones_own_is_built_on_ours(ask, my_conf, tmp_path):
    folder = my_conf()
    (folder / "quick.yaml").write_text("defaults: [config, _self_]\nbudget: 1m\n")
    (folder / "bare.yaml").write_text("budget: 1m\n")
    ran = ask("--config-dir", "my_conf", "--config-name", "quick", "+model=mine")
    assert ran.code == 0, ran.err
    assert ran.configs[0].budget == "1m"
    ran = ask("--config-dir", "my_conf", "--config-name", "bare")
    assert ran.code == 2 and "is no config for `python tune.py`" in ran.err
    ran = ask("--config-dir", "my_conf", "--config-name", "quik", "+model=mine")
    assert ran.code == 2 and "did you mean 'quick'?" in ran.err
