import shutil

from tests.conftest import LAUGHS


def test_a_frozen_file_by_its_path_and_what_is_typed_wins(ask, frozen_file):
    path = frozen_file()
    ran = ask("settings.prefetch_factor=5", "+model=resnet50", "settings=./best.yaml")
    assert ran.code == 0, ran.err
    config = ran.configs[0]
    assert config.settings["num_workers"] == 4 and config.settings["prefetch_factor"] == 5
    assert config.settings["amp"] == "none"
    assert config.frozen == str(path)
    assert config.provenance == {"speedup": 2.02, "date": "2026-01-02"}


def test_its_path_may_hold_what_hydra_would_not_read(ask, frozen_file):
    frozen_file("x=1, (2)/my best.yaml", cuda_alloc_conf="expandable_segments:True")
    ran = ask("+model=resnet50", "settings=x=1, (2)/my best.yaml", primary="train")
    assert ran.code == 0, ran.err
    assert ran.configs[0].settings["cuda_alloc_conf"] == "expandable_segments:True"


def test_a_frozen_file_in_a_folder_of_ones_own_is_an_option(ask, frozen_file, my_conf):
    folder = my_conf()
    (folder / "settings").mkdir()
    shutil.copy(frozen_file(), folder / "settings" / "mine_fast.yaml")
    ran = ask(
        "--config-dir", "my_conf", "+model=mine", "settings=mine_fast", "settings.in_order=false"
    )
    assert ran.code == 0, ran.err
    config = ran.configs[0]
    assert config.settings == {"num_workers": 4, "prefetch_factor": 3, "in_order": False}
    assert config.provenance["speedup"] == 2.02
    assert config.frozen == str(folder / "settings" / "mine_fast.yaml")


def test_a_bad_frozen_file_is_told_beside_the_other_mistakes(ask, tmp_path):
    (tmp_path / "bad.yaml").write_text("settings:\n  num_wokers: 3\n")
    ran = ask("+model=resnet50", "settings=bad.yaml", "budget=soon")
    assert ran.code == 2
    assert "bad.yaml:2" in ran.err and "budget is 'soon'" in ran.err
    ran = ask("+model=resnet50", "settings=./nowhere.yaml")
    assert ran.code == 2 and "nowhere.yaml" in ran.err


def test_frozen_files_can_be_swept(ask, frozen_file):
    frozen_file("a.yaml", num_workers=1)
    ran = ask("-m", "+model=resnet50", "settings=default,a.yaml", primary="train")
    assert ran.code == 0, ran.err
    assert [c.settings["num_workers"] for c in ran.configs] == [0, 1]


def test_an_option_that_stands_for_more_than_it_says_is_told(ask, my_conf):
    my_conf(settings__theirs=f"settings: {{}}\nprovenance:\n  l0: &l0 [lol]\n{LAUGHS}")
    ran = ask("--config-dir", "my_conf", "+model=mine", "settings=theirs", "budget=soon")
    assert ran.code == 2 and ran.err.startswith("2 mistakes "), ran.err
    assert "`*l0` stands for what is said elsewhere" in ran.err
    assert "where: my_conf/settings/theirs.yaml, line 4" in ran.err


def test_a_spoilt_figure_in_an_option_is_told(ask, my_conf):
    spoilt = "provenance: {samples_per_s: 5.0, samples_per_s_ci95: [null, 6.0]}"
    my_conf(settings__theirs=f"# @package _global_\nsettings: {{}}\n{spoilt}\n")
    ran = ask("--config-dir", "my_conf", "+model=mine", "settings=theirs", primary="train")
    assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
    assert "provenance.samples_per_s_ci95[0] is None; it has to be a number" in ran.err
    assert "where: my_conf/settings/theirs.yaml, line 3" in ran.err
