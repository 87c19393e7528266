import subprocess
from pathlib import Path

import pytest

from benchmarks.rival import venvs


@pytest.fixture
def made(monkeypatch):
    """Which environments were made and what pip was asked, without making any."""
    said = []

    class Builder:
        def __init__(self, **_):
            pass

        def create(self, place):
            (Path(place) / "lib" / "python3" / "site-packages").mkdir(parents=True)

    def run(words, **_):
        said.append(words[5:])
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(venvs.venv, "EnvBuilder", Builder)
    monkeypatch.setattr(venvs.subprocess, "run", run)
    return said


def test_each_rival_gets_its_release_and_those_that_train_get_our_torch():
    needs = venvs.requirements()
    assert "pytorch-autotune==2.0.0" in needs["pytorch-autotune"]
    assert needs["train-doctor"] == ["train-doctor==0.2.0"]
    torch = [word for word in needs["optuna"] if word.startswith("torch==")]
    assert torch and torch[0] in needs["pytorch-autotune"] and "+" not in torch[0]


def test_an_environment_is_made_once(made, tmp_path):
    for _ in range(2):
        python = venvs.prepare("train-doctor", tmp_path, share=False)
    assert made == [["train-doctor==0.2.0"]]
    assert python == tmp_path / "train-doctor" / "bin" / "python"
    assert not list(tmp_path.rglob("*.pth"))


def test_packages_are_shared_only_where_that_is_asked(made, tmp_path):
    venvs.prepare("optuna", tmp_path, share=True)
    (shared,) = tmp_path.rglob("shared.pth")
    assert Path(shared.read_text().strip()).is_dir()


def test_pips_own_error_is_the_reason_and_nothing_counts_as_installed(made, tmp_path, monkeypatch):
    error = "WARNING: retry\nERROR: No matching distribution found for train-doctor\n\n[notice] pip"

    def run(words, **_):
        raise subprocess.CalledProcessError(1, words, "", error)

    monkeypatch.setattr(venvs.subprocess, "run", run)
    with pytest.raises(venvs.CannotInstall, match="^ERROR: No matching distribution"):
        venvs.prepare("train-doctor", tmp_path, share=False)
    assert not list(tmp_path.rglob(venvs.MARK))
