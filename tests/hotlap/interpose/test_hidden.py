"""Modules beside a script whose names are taken already."""

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

    folder = tmp_path / "link"
    folder.symlink_to(hotlap.__path__[0])
    script = tmp_path / "train.py"
    script.write_text("import hotlap")
    (tmp_path / "hotlap").symlink_to(hotlap.__path__[0])
    assert hidden(str(script), str(tmp_path)) == []
