"""Places that cannot be written are told with the other mistakes, before anything is started."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conf.place import bank_folder, is_folder, place_of
from conf.unwritable import no_file, nothing_in
from tests.conftest import ROOT


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
        ("bank.path='~nobody-of-that-name/b'", "there can be no such", "bank.path=bank"),
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


def test_two_studies_of_a_sweep_do_not_freeze_into_one_file(ask):
    ran = ask("-m", "+model=digits_mlp,resnet18", "freeze=best.yaml", "budget=soon,1m")
    assert ran.code == 2 and ran.err.startswith("2 mistakes "), ran.err
    assert "freeze names the same file for several studies of the sweep" in ran.err
    assert "where: command line: freeze=best.yaml" in ran.err and "type:  freeze=null" in ran.err
    ran = ask("-m", "+model=digits_mlp,resnet18", "freeze=best.yaml")
    (cure,) = re.findall("type:  freeze='(.*)'", ran.err)
    ran = ask("-m", "+model=digits_mlp,resnet18", f"freeze={cure}")
    assert ran.code == 0, ran.err
    assert [config.freeze for config in ran.configs] == ["digits_mlp.yaml", "resnet18.yaml"]
    ran = ask("-m", "+model=digits_mlp", "seed=1,2", "freeze=a.yaml,./a.yaml")
    assert ran.err.startswith("1 mistake "), ran.err
    assert ask("-m", "+model=digits_mlp", "freeze=a.yaml,b.yaml").code == 0


def test_a_bank_that_others_fill_may_be_read_only(ask):
    assert ask("+model=digits_mlp", "bank.path=/proc").code == 0


def test_the_bank_is_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert bank_folder("default", None) == tmp_path / "hotlap" / "bank"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for unset in ("", "relative/is/ignored"):
        monkeypatch.setenv("XDG_CACHE_HOME", unset)
        assert bank_folder("default", None) == tmp_path / "home" / ".cache" / "hotlap" / "bank"
    assert bank_folder("default", "~/mine") == tmp_path / "home" / "mine"
    assert bank_folder("default", "mine") == Path.cwd() / "mine"
    assert bank_folder("none", "mine") is None


@pytest.mark.parametrize(
    ("words", "code"), [([], 2), (["bank=none"], 0), (["bank.path=bank"], 0)], ids=str
)
def test_a_user_without_a_home_is_told_before_anything_starts(tmp_path, words, code):
    front = "import sys; from conf.cli import main; sys.exit(main(sys.argv[1:], 'config', task))"
    front = f"task = lambda config, text: 0\n{front}"
    unknown = ["unshare", "--user", "--map-user=54321", "--map-group=54321"]
    env = {
        name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")
    }
    env["PYTHONPATH"] = str(ROOT)
    try:
        subprocess.run([*unknown, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine gives no user namespaces")
    command = [*unknown, sys.executable, "-c", front, "+model=digits_mlp", *words]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    if code:
        assert done.stderr.startswith("1 mistake ")
        assert "the bank is in the home folder, and there is none" in done.stderr
        assert "type:  bank.path=bank, or bank=none" in done.stderr


@pytest.fixture
def read_only(small_disk):
    """What lies on the disk can be read from now on, and nothing written."""

    def read_only():
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    return read_only


def test_a_study_or_run_that_cannot_be_written_any_more_does_not_go_on(ask, small_disk, read_only):
    for primary in ("config", "train"):
        ran = ask("+model=digits_mlp", primary=primary)
        (small_disk / primary).mkdir()
        (small_disk / primary / "config.yaml").write_text(ran.texts[0])
    (small_disk / "train" / "checkpoint.pt").touch()
    read_only()
    runs = [
        ask(f"resume={small_disk}/config"),
        ask(f"resume={small_disk}/train", primary="train"),
        ask("+model=digits_mlp", f"resume={small_disk}/train/checkpoint.pt", primary="train"),
    ]
    for ran in runs:
        assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
        assert "Read-only file system" in ran.err and "resume=<the copy>" in ran.err


def test_a_home_that_nobody_has_is_no_place_to_go_on(ask):
    for words in ([], ["+model=digits_mlp"]):
        ran = ask("resume='~nobody-of-that-name/study'", *words, primary="train")
        assert ran.code == 2 and ran.err.startswith("1 mistake "), ran.err
        assert "nobody-of-that-name" in ran.err


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
