import pytest

from conf.module_file import module_file
from conf.signature import NotFound


@pytest.fixture
def modules(tmp_path):
    for name in ("alone.py", "pack/__init__.py", "pack/train.py", "pack/deep/fit.py",
                 "runs/__init__.py", "runs/__main__.py"):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise SystemExit('it was imported')\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("alone", "alone.py"),
        ("pack.train", "pack/train.py"),
        ("pack.deep.fit", "pack/deep/fit.py"),
        ("runs", "runs/__main__.py"),
        ("runs.__main__", "runs/__main__.py"),
    ],
)
def test_the_file_is_found_without_an_import(modules, name, file):
    assert module_file(name, [str(modules)]) == str(modules / file)


def test_an_installed_module_is_found(modules):
    assert module_file("json.tool", [str(modules)]).endswith("tool.py")


@pytest.mark.parametrize(
    ("name", "why", "near"),
    [
        ("pack", "it has no __main__.py", "pack.train"),
        ("pack.trian", "no module 'trian' in pack", "pack.train"),
        ("pack.nothing_like_it", "no module 'nothing_like_it' in pack", ""),
        ("alnoe", "no module 'alnoe'", "alone"),
        ("alone.train", "alone is no package", "alone"),
        ("sys", "part of Python itself", ""),
        (".train", "no module's name", ""),
        ("pack..train", "no module's name", ""),
        ("pack/train.py", "no module's name", ""),
    ],
)
def test_what_cannot_be_run_is_told_with_what_was_meant(modules, name, why, near):
    with pytest.raises(NotFound, match=why) as caught:
        module_file(name, [str(modules)])
    assert caught.value.near == near
