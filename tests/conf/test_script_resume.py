"""A resumed study knows its script, its arguments and the folder in which it runs."""

import pytest

from conf.workload import script_of

ARGS = ["--name", "a=b,c", "", "${x", "???", "é", "- x: y"]


@pytest.fixture
def study(ask, tmp_path, monkeypatch):
    """The folder of a study of `x=1/tiny train.py`, begun in `tmp_path`; one is elsewhere now."""
    script = tmp_path / "x=1" / "tiny train.py"
    script.parent.mkdir()
    script.write_text("raise SystemExit('a script was run')\n")
    ran = ask("script=x=1/tiny train.py", "override=[amp]", "scratch=false", "--", *ARGS)
    assert ran.code == 0, ran.err
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "config.yaml").write_text(ran.texts[0], encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return folder


def test_from_another_folder_it_is_the_same_script_in_its_first_folder(ask, study, tmp_path):
    ran = ask("resume=../study", "budget=1h")
    assert ran.code == 0, ran.err
    assert script_of(ran.configs[0]) == {
        "target": str(tmp_path / "x=1" / "tiny train.py"),
        "is_module": False,
        "args": ARGS,
        "cwd": str(tmp_path),
        "override": ["amp"],
        "scratch": False,
    }
    assert ran.configs[0].name == "tiny train" and ran.configs[0].budget == "1h"
    words = ["override=[amp]", "scratch=false", "script=x=1/tiny train.py", "--", *ARGS]
    assert ran.configs[0].words == words


def test_bytes_that_are_no_text_survive_as_well(ask, tmp_path):
    (tmp_path / "train.py").write_text("pass\n")
    folder = tmp_path / "bytes"
    folder.mkdir()
    text = ask("script=train.py", "--", "\udc80").texts[0]
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    ran = ask("resume=bytes")
    assert ran.code == 0, ran.err
    assert ran.configs[0].script_args == ["\udc80"]


def test_it_can_be_resumed_again_and_again(ask, study):
    for _ in range(2):
        ran = ask("resume=../study")
        assert ran.code == 0, ran.err
        (study / "config.yaml").write_text(ran.texts[0], encoding="utf-8")
    assert ran.configs[0].script_args == ARGS


def test_the_same_arguments_may_be_typed_again(ask, study):
    ran = ask("resume=../study", "--", *ARGS)
    assert ran.code == 0, ran.err
    assert ran.configs[0].script_args == ARGS


def test_other_arguments_are_a_new_study(ask, study):
    ran = ask("resume=../study", "--", "--lr", "1")
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "'--lr 1' would change the script's arguments" in ran.err
    assert "'script=x=1/tiny train.py' -- --lr 1 for a new study" in ran.err


def test_another_script_is_a_new_study(ask, study):
    ran = ask("resume=../study", "script=train.py")
    assert ran.code == 2 and "'script=train.py' would change a study" in ran.err


def test_a_script_that_is_gone_is_to_be_put_back(ask, study, tmp_path):
    (tmp_path / "x=1" / "tiny train.py").unlink()
    ran = ask("resume=../study")
    assert ran.code == 2 and ran.err.startswith("1 mistake ")
    assert "there is no script" in ran.err and "type:  the file put back" in ran.err


def test_a_folder_that_is_gone_is_told(ask, tmp_path, study):
    text = (study / "config.yaml").read_text(encoding="utf-8")
    gone = text.replace(f"cwd: {tmp_path}\n", f"cwd: {tmp_path}/gone\n")
    (study / "config.yaml").write_text(gone, encoding="utf-8")
    ran = ask("resume=../study")
    assert ran.code == 2 and f"the script runs in {tmp_path}/gone, and that folder" in ran.err


def test_a_study_of_a_model_takes_no_arguments_of_a_script(ask, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "config.yaml").write_text(ask("+model=digits_mlp").texts[0])
    ran = ask("resume=models", "--", "--lr")
    assert ran.code == 2 and "and no script is named" in ran.err
