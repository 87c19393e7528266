"""What is printed to be typed starts the environment that printed it, active or not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hotlap.programs import program, python


def typed(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def prefix():
    return typed(f"{python()} -c 'import sys; print(sys.prefix)'")


def test_where_the_environment_is_active_the_names_do(active):
    assert (python(), program("mlflow")) == ("python", "mlflow")
    assert prefix() == sys.prefix


@pytest.mark.parametrize("path", ["/usr/bin:/bin", "another"])
def test_where_it_is_not_the_path_is_named_short_if_it_can_be(tmp_path, monkeypatch, path):
    (tmp_path / "another").mkdir()
    # Another environment of the same Python: its `python` is a link to the same file.
    (tmp_path / "another" / "python").symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setenv("PATH", f"{tmp_path / path}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    assert python() == python(anywhere=True) == sys.executable
    assert prefix() == sys.prefix
    folder = Path(sys.executable).parent
    monkeypatch.chdir(folder.parent)
    assert python() == f"{folder.name}/{Path(sys.executable).name}" and prefix() == sys.prefix
    assert python(anywhere=True) == sys.executable
    monkeypatch.chdir(folder)  # a bare name would be looked for elsewhere
    assert prefix() == sys.prefix


def test_a_program_is_the_environments_own_or_a_module_of_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    beside = Path(sys.executable).with_name("pytest")
    assert program("pytest") == (str(beside) if beside.exists() else f"{sys.executable} -m pytest")
    assert program("json.tool") == f"{sys.executable} -m json.tool"
    assert typed(f"echo '[1]' | {program('json.tool')} --compact") == "[1]"
