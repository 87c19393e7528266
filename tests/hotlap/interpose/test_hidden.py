"""Modules beside a script whose names are taken already."""

import io
import os

import pytest

from hotlap.interpose.hidden import hidden


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import hotlap", ["hotlap.py"]),
        ("from hotlap import mine", ["hotlap.py"]),
        ("import utils", ["hotlap.py"]),  # which imports it
        ("from package.part import *", ["yaml"]),
        ("from . import hotlap", []),
        ("import os, json, other", []),
        ("import sys", []),  # plain Python has another one too
        ("print 'Python 2'", []),
    ],
)
def test_those_that_the_script_imports(tmp_path, text, names):
    for name in ("hotlap.py", "utils.py", "other.py", "json5.py", "sys.py", "yaml/__init__.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("import hotlap" if name == "utils.py" else "")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("import yaml.parts")
    script = tmp_path / "train.py"
    script.write_text(text)
    assert hidden(str(script), str(tmp_path)) == names


def test_hotlaps_own_folder_hides_nothing(tmp_path):
    import hotlap

    script = tmp_path / "train.py"
    script.write_text("import hotlap")
    (tmp_path / "hotlap").symlink_to(hotlap.__path__[0])
    assert hidden(str(script), str(tmp_path)) == []


def test_what_plain_python_imports_at_its_start_is_hidden_there_too(tmp_path, monkeypatch):
    """Up to 3.10 these come from files, and from 3.11 on they are frozen."""
    for module in (io, os):
        monkeypatch.setattr(module.__spec__, "origin", f"/usr/lib/python3.10/{module.__name__}.py")
    for name in ("io", "os", "encodings"):
        (tmp_path / f"{name}.py").write_text("")
    script = tmp_path / "train.py"
    script.write_text("import encodings, io, os")
    assert hidden(str(script), str(tmp_path)) == []


def test_what_python_warns_of_in_a_script_is_left_to_its_run(tmp_path):
    (tmp_path / "hotlap.py").write_text("")
    script = tmp_path / "train.py"
    script.write_text("import hotlap\n'\\d'")  # a warning is an error in these tests
    assert hidden(str(script), str(tmp_path)) == ["hotlap.py"]
