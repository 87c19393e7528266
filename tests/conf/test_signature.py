import sys

import pytest

from conf.signature import NotFound, signature

MODULE = """
import functools
from .inner import again, renamed as other
from . import inner
def plain(a, b=1, *, c, d=2): ...
def anything(a, **more): ...
@functools.cache
def decorated(a): ...
made = functools.partial(plain, 1)
try:
    def guarded(a=0): ...
except ImportError:
    pass
class Built:
    def __init__(self, size, depth=1): ...
    @staticmethod
    def make(x): ...
class Child(Built): ...
"""


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise SystemExit('imported')\n" + MODULE)
    (folder / "inner.py").write_text("def again(x, y=2): ...\ndef renamed(z): ...\n")
    return [str(tmp_path)]


def test_parameters_are_read_without_importing(package):
    found = signature("pack.plain", package)
    assert found.names == ("a", "b", "c", "d")
    assert found.required == ("a", "c") and found.keyword_only == ("c", "d")
    assert not found.open and "line" in found.where
    assert "pack" not in sys.modules


def test_re_exports_and_submodules_are_followed(package):
    assert signature("pack.again", package).names == ("x", "y")
    assert signature("pack.other", package).required == ("z",)
    assert signature("pack.inner.again", package).names == ("x", "y")


def test_a_class_takes_what_its_init_takes(package):
    found = signature("pack.Built", package)
    assert found.names == ("size", "depth") and found.required == ("size",)


def test_what_the_source_tells_inside_try_counts(package):
    assert signature("pack.guarded", package).names == ("a",)


@pytest.mark.parametrize("name", ["anything", "decorated", "made", "Child", "Built.make"])
def test_what_the_source_does_not_tell_is_open(package, name):
    assert signature(f"pack.{name}", package).open


@pytest.mark.parametrize(
    ("dotted", "near"),
    [
        ("pack.plan", "pack.plain"),
        ("pak.plain", "pack.plain"),
        ("pack.iner.again", "pack.inner.again"),
        ("pack.inner", "pack.inner.again"),
        ("plain", ""),
        ("a b.c", ""),
    ],
)
def test_what_is_not_there_is_told_with_the_nearest(package, dotted, near):
    with pytest.raises(NotFound) as caught:
        signature(dotted, package)
    assert caught.value.near == near


def test_installed_packages_are_found_without_importing_them():
    before = set(sys.modules)
    assert "transform" in signature("torchvision.datasets.ImageFolder").names
    assert not {m for m in set(sys.modules) - before if m.startswith("torchvision")}
