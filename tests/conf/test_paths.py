"""Places that cannot be written are told with the other mistakes, before anything is started."""

import os

import pytest

from conf.place import is_folder, place_of
from conf.unwritable import no_file, nothing_in


@pytest.mark.parametrize(
    ("word", "says", "cure"),
    [
        ("freeze=/dev/null/x.yaml", "/dev/null is no folder", "freeze=frozen.yaml"),
        ("freeze=taken/new/x.yaml", "taken is no folder", "freeze=frozen.yaml"),
        ("freeze=/dev/null", "no file that keeps", "freeze=frozen.yaml"),
        ("freeze=.", "not the name of a file", "freeze=frozen.yaml"),
        (f"freeze={'a' * 5000}", "there can be no such file", "freeze=frozen.yaml"),
        ("freeze='~'", "not the name of a file", "freeze=~/frozen.yaml"),
        ("freeze='~nobody-of-that-name/x.yaml'", "there can be no such", "freeze=frozen.yaml"),
        ("freeze=/proc/x.yaml", "nothing can be written in /proc", "freeze=frozen.yaml"),
        ("bank.path=taken/bank", "taken is no folder", "bank.path=bank"),
        ("bank.path=/proc/bank", "nothing can be written in /proc", "bank.path=bank"),
        ("bank.path=' '", "not the name of a folder", "bank.path=bank"),
    ],
)
def test_a_place_that_cannot_be_written_is_a_mistake_like_others(ask, tmp_path, word, says, cure):
    (tmp_path / "taken").touch()
    ran = ask("+model=digits_mlp", word, "budget=soon")
    assert ran.code == 2 and ran.err.startswith("2 mistakes "), ran.err
    assert says in ran.err and f"type:  {cure}" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_places_that_can_be_made_are_none_and_are_not_made_yet(ask, tmp_path):
    ran = ask("+model=digits_mlp", "freeze=new/folder/x.yaml", "bank.path=other/bank")
    assert ran.code == 0, ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_bank_that_others_fill_may_be_read_only(ask):
    assert ask("+model=digits_mlp", "bank.path=/proc").code == 0


def test_a_current_folder_that_takes_no_results_is_told(ask, tmp_path):
    (tmp_path / "outputs").touch()
    for primary in ("config", "train"):
        ran = ask("+model=digits_mlp", primary=primary)
        assert ran.code == 2 and "outputs is no folder" in ran.err and "type:  cd " in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_somebody_elses_is_told(tmp_path):
    (tmp_path / "theirs").mkdir(mode=0o500)
    assert "Permission denied" in nothing_in(tmp_path / "theirs" / "new")
    assert "Permission denied" in no_file(tmp_path / "theirs" / "x.yaml")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_folder_that_nobody_may_look_into_is_told(tmp_path):
    (tmp_path / "theirs").mkdir(mode=0)
    inside = tmp_path / "theirs" / "new" / "x.yaml"
    assert not is_folder(inside)
    assert "Permission denied" in no_file(inside) and "Permission denied" in nothing_in(inside)


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "broken")])
def test_what_cannot_be_looked_at_is_not_taken_for_nothing(tmp_path, monkeypatch, error):
    """As for root, who may look everywhere, and as in a Python whose Path.exists says nothing."""
    real = os.stat

    def stat(path, *args, **more):
        if "theirs" in str(path):
            raise error
        return real(path, *args, **more)

    monkeypatch.setattr(os, "stat", stat)
    assert not is_folder(tmp_path / "theirs")
    assert error.strerror in no_file(tmp_path / "theirs" / "x.yaml")
    assert error.strerror in nothing_in(tmp_path / "theirs" / "new")


def test_the_home_folder_is_the_same_for_the_check_and_for_the_writer(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "taken").touch()
    assert no_file("~/taken/x.yaml") == f"{tmp_path}/taken is no folder"
    assert no_file("~/new/x.yaml") == ""
    assert place_of("~/new/x.yaml") == tmp_path / "new" / "x.yaml"
