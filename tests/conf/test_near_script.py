import sysconfig
from pathlib import Path

import pytest

from conf.near_script import near_script


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("trian.py", "train.py"),
        ("train", "train.py"),
        ("sub/trian.py", "sub/train.py"),
        ("sub", "sub/train.py"),
        ("no_such_folder/train.py", ""),
        ("quite_another_thing", ""),
    ],
)
def test_a_file_of_that_folder_is_meant(tmp_path, monkeypatch, name, near):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for path in ("train.py", "sub/train.py", "sub/another.py"):
        (tmp_path / path).write_text("")
    assert near_script(name) == near


def test_an_installed_program_is_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (Path(sysconfig.get_path("scripts")) / "torchrun").exists()
    assert near_script("torchrnu") == "torchrun"
