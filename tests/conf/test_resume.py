import json

import pytest

from hotlap.settings import Settings
from search_spaces import machine_facts
from search_spaces.torch_build import torch_build


@pytest.fixture
def study(ask, tmp_path, my_conf):
    """A study's folder, as the study writes it."""
    my_conf()
    ran = ask("--config-dir", "my_conf", "+model=mine", "budget=5m", "search_space=[dataloader]")
    assert ran.code == 0, ran.err
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "config.yaml").write_text(ran.texts[0])
    return folder


def test_a_study_goes_on_with_its_own_config(ask, study, monkeypatch, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ran = ask("resume=../study", "budget=1h", "tracking=none", "n_trials=30")
    assert ran.code == 0, ran.err
    config = ran.configs[0]
    assert config.model == {"workload": "my_module.make", "width": 3}
    assert config.import_path == [str(tmp_path)]
    assert config.budget == "1h" and config.n_trials == 30 and config.tracking.name == "none"
    assert list(config.search_space) and "amp" not in config.search_space
    assert config.resume == str(study)


PLACES = ("freeze=best.yaml", "bank.path=~/bank", "tracking.uri=sqlite:///my runs.db")


@pytest.mark.parametrize("primary", ["config", "train"])
def test_from_another_folder_it_writes_where_it_wrote_before(ask, tmp_path, monkeypatch, primary):
    """What is typed is as it was typed, and so what is shown of it; what is kept is absolute."""
    monkeypatch.setenv("HOME", str(tmp_path))
    places = PLACES if primary == "config" else PLACES[1:]  # a full run freezes nothing
    ran = ask("+model=digits_mlp", *places, primary=primary)
    assert ran.code == 0, ran.err
    assert ran.configs[0].bank.path == "~/bank"
    assert ran.configs[0].tracking.uri == "sqlite:///my runs.db"
    for folder in ("begun", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "begun" / "config.yaml").write_text(ran.texts[0])
    monkeypatch.chdir(tmp_path / "elsewhere")
    ran = ask("resume=../begun", primary=primary)
    assert ran.code == 0, ran.err
    assert ran.configs[0].bank.path == str(tmp_path / "bank")
    assert ran.configs[0].tracking.uri == f"sqlite:///{tmp_path}/my runs.db"
    if primary == "config":
        assert ran.configs[0].freeze == str(tmp_path / "best.yaml")
        anew = ask("resume=../begun", "freeze=other.yaml")
        assert anew.configs[0].freeze == "other.yaml"
        assert f"freeze: {tmp_path}/elsewhere/other.yaml\n" in anew.texts[0]


def test_a_recording_goes_on_in_its_own_table(ask, tmp_path):
    ran = ask("+model=digits_mlp", "record=new/table.jsonl", "sampler=brute_force")
    assert ran.configs[0].record == "new/table.jsonl"
    assert f"record: {tmp_path}/new/table.jsonl\n" in ran.texts[0]


def test_what_is_not_given_anew_stays(ask, study):
    config = ask("resume=study").configs[0]
    assert config.budget == "5m" and config.tracking.name == "mlflow"


def test_one_value_that_is_given_anew_changes_no_other(ask, study):
    kept = (study / "config.yaml").read_text().replace("uri: null", "uri: http://host")
    (study / "config.yaml").write_text(kept)
    tracking = ask("resume=study", "tracking.experiment=mine").configs[0].tracking
    assert (tracking.experiment, tracking.uri) == ("mine", "http://host")


def test_a_proof_may_be_given_more_rounds_than_before(ask, study):
    config = ask("resume=study", "confirm.max_rounds=80").configs[0]
    assert config.confirm.max_rounds == 80
    ran = ask("resume=study", "confirm.n_best=3")
    assert "confirm.n_best=3' would change a study" in ran.err


def test_changes_that_would_mix_two_studies_are_refused(ask, study):
    ran = ask("resume=study", "+model=resnet50", "sampler.seed=3", "budget=soon")
    assert ran.code == 2 and ran.err.startswith("3 mistakes")
    assert "'+model=resnet50' would change a study" in ran.err
    assert "'sampler.seed=3' would change a study" in ran.err
    assert "budget is 'soon'" in ran.err


def test_a_folder_without_a_study_is_told(ask, tmp_path):
    ran = ask("resume=nowhere")
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "nowhere holds nothing to go on with" in ran.err


def test_resume_of_train_is_a_plain_key(ask):
    ran = ask("+model=resnet50", "resume=last.pt", primary="train")
    assert ran.code == 0 and ran.configs[0].resume == "last.pt"


@pytest.mark.parametrize(
    ("word", "own"),
    [
        ("settings=default", True),
        ("settings=plain", True),
        ("settings.num_workers=2", True),
        ("+settings.amp=none", True),
        ("seed=3", False),
    ],
)
def test_a_full_run_knows_whether_settings_were_typed(ask, my_conf, word, own):
    my_conf(settings__plain="# @package _global_\nsettings: {amp: none}\n")
    words = ("--config-dir", "my_conf", "+model=digits_mlp", "resume=last.pt")
    ran = ask(*words, word, primary="train")
    assert ran.code == 0, ran.err
    assert ran.configs[0].own_settings is own


@pytest.fixture
def full_run(ask, tmp_path, frozen_file):
    """The folder of a full run with frozen settings, as train.py writes it."""
    words = ("+model=digits_mlp", "seed=3", f"settings={frozen_file()}", "bank=none")
    ran = ask(*words, primary="train")
    assert ran.code == 0, ran.err
    folder = tmp_path / "full-1"
    folder.mkdir()
    (folder / "config.yaml").write_text(ran.texts[0])
    return folder


@pytest.mark.parametrize(
    ("words", "settings", "file"),
    [
        ((), (4, 3, "none"), "best.yaml"),
        (("settings.num_workers=2",), (2, 3, "none"), "best.yaml"),
        (("+settings.amp=bf16", "~settings.prefetch_factor"), (4, 2, "bf16"), "best.yaml"),
        (("settings=default",), (0, 2, "none"), None),
        (("settings=other.yaml", "settings.amp=bf16"), (1, 2, "bf16"), "other.yaml"),
        (("--config-dir", "my_conf", "settings=plain"), (0, 2, "bf16"), None),
        (("--config-dir", "my_conf", "settings=theirs"), (7, 2, "none"), "settings/theirs.yaml"),
    ],
    ids=str,
)
def test_a_full_run_goes_on_with_the_settings_that_are_typed(
    ask, full_run, frozen_file, my_conf, words, settings, file
):
    my_conf(settings__plain="# @package _global_\nsettings: {amp: bf16}\n")
    frozen_file("other.yaml", num_workers=1)
    frozen_file("my_conf/settings/theirs.yaml", num_workers=7)
    ran = ask("resume=full-1", *words, "epochs=5", primary="train")
    assert ran.code == 0, ran.err
    config = ran.configs[0]
    found = Settings.from_dict(config.settings)
    assert (found.num_workers, found.prefetch_factor, found.amp) == settings
    assert bool(config.provenance) is (file is not None)
    assert config.frozen is None if file is None else config.frozen.endswith(f"/{file}")
    assert (config.seed, config.epochs, config.bank.name) == (3, 5, "none")


def test_settings_that_are_none_are_told_and_a_study_takes_no_others(
    ask, full_run, study, frozen_file
):
    ran = ask("resume=full-1", "settings=nowhere.yaml", primary="train")
    assert ran.code == 2 and ran.err.startswith("1 mistake ") and "nowhere.yaml" in ran.err
    ran = ask("resume=full-1", "settings.num_wokers=2", primary="train")
    assert ran.code == 2 and "did you mean 'num_workers'?" in ran.err
    ran = ask("resume=study", f"settings={frozen_file()}")
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "best.yaml' would change a study or run that is under way" in ran.err


def test_a_checkpoint_that_is_named_is_the_one_and_the_config_is_its_folders(ask, tmp_path):
    folder = tmp_path / "full-1"
    folder.mkdir()
    (folder / "config.yaml").write_text(ask("+model=digits_mlp", primary="train").texts[0])
    for name in ("checkpoint.pt", "earlier.pt"):
        (folder / name).touch()
    (tmp_path / "link").symlink_to(folder)
    for typed, meant in (
        ("full-1/earlier.pt", "/earlier.pt"),
        ("link/checkpoint.pt", "/checkpoint.pt"),
        ("link", ""),
    ):
        (config,) = ask(f"resume={typed}", "epochs=5", primary="train").configs
        assert config.name == "digits_mlp" and config.epochs == 5
        assert config.resume == f"{folder}{meant}"


def test_any_file_of_a_study_stands_for_its_folder(ask, study):
    assert ask("resume=study/config.yaml").configs[0].resume == str(study)


CUDA = {"device": "cuda:0", "gpus": [{"name": "NVIDIA GeForce RTX 3090"}]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"cpu": "Cray-1"}, "the CPU was Cray-1 then and "),
        ({"cores": 4096}, "the usable cores were 4096 then and "),
        (CUDA, "the visible GPUs were NVIDIA GeForce RTX 3090 then and "),
    ],
)
def test_a_study_of_another_machine_is_refused_with_a_way_out(ask, study, change, told):
    (study / "facts.json").write_text(json.dumps({**machine_facts(), "device": "cpu", **change}))
    ran = ask("resume=study")
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "begun on another machine: " + told in ran.err
    assert "+model=mine, without resume=, for a study of its own here" in ran.err


BUILD = torch_build()
ON_CUDA = {"device": "cuda:0", "gpus": [], "nvidia_driver": None, "cuda": None}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"torch": "1.0"}, f"torch was 1.0 then and {BUILD['torch']} here"),
        ({"cuda": "9.0"}, f"CUDA was 9.0 then and {BUILD.get('cuda', 'none')} here"),
        ({**ON_CUDA, "nvidia_driver": "9.1"}, "the NVIDIA driver was 9.1 then and 570.2 here"),
    ],
)
def test_a_study_of_another_torch_is_refused_with_a_way_out(ask, study, monkeypatch, change, told):
    here = {**machine_facts(), **ON_CUDA, "nvidia_driver": "570.2"}
    monkeypatch.setattr("conf.same_machine.machine_facts", lambda: here)
    facts = {**here, "device": "cpu", **BUILD, "cuda": None, **change}
    (study / "facts.json").write_text(json.dumps(facts))
    ran = ask("resume=study")
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "the study was begun with other versions: " + told in ran.err
    assert "it goes on where these are as they were" in ran.err
    assert "+model=mine, without resume=, for a study of its own here" in ran.err
    (study / "facts.json").write_text(json.dumps({**facts, "cores": 4096}))
    assert "begun on another machine and with other versions: " in ask("resume=study").err


def test_versions_that_the_study_did_not_use_may_change(ask, study):
    facts = {**machine_facts(), **BUILD, "device": "cpu", "cuda": None}
    (study / "facts.json").write_text(json.dumps({**facts, "nvidia_driver": "9.1"}))
    assert ask("resume=study").code == 0


@pytest.mark.parametrize("text", ["[]", "7", '{"gpus": 5}', '{"gpus": ["a"]}', "{", "[" * 99999])
def test_facts_that_are_damaged_are_told_with_their_file(ask, study, text):
    (study / "facts.json").write_text(text)
    ran = ask("resume=study")
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "study/facts.json, what the study knows of its machine, is damaged" in ran.err
    assert "type:  rm study/facts.json" in ran.err


def test_a_study_of_this_machine_goes_on_and_gpus_that_it_does_not_use_may_change(ask, study):
    facts = {**machine_facts(), "gpus": CUDA["gpus"], "device": "cpu", "shm_free_bytes": 1}
    (study / "facts.json").write_text(json.dumps(facts))
    assert ask("resume=study").code == 0
