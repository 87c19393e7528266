import sys

import pytest

from hotlap.errors import UserInputError
from hotlap.zoo.data import build, check_size, n_classes_of

DIGITS = "hotlap.zoo.digits.digits"


def test_nothing_named_takes_the_workloads_own_data():
    assert len(build(None, DIGITS)) == len(build({}, DIGITS)) == 1797


def test_a_users_own_function_gets_what_it_takes(tmp_path, monkeypatch):
    (tmp_path / "my_data.py").write_text(
        "def mine(n, *, device='?'): return [device] * n\ndef plain(n): return [n]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    data = {"dataset": "my_data.mine", "n": 2}
    assert build(data, DIGITS, device="cpu", transform=abs) == ["cpu", "cpu"]
    assert build({"dataset": "my_data.plain", "n": 3}, DIGITS, device="cpu") == [3]
    assert data == {"dataset": "my_data.mine", "n": 2}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"n": 1}, f"the data config has n but not `dataset`.*write dataset: {DIGITS}"),
        ({"dataset": "hotlap.zoo.absent.x"}, "there is no module 'hotlap.zoo.absent'; take"),
        ({"dataset": "digits"}, "there is no module ''; take"),
        ({"dataset": "hotlap.zoo.digits.digit"}, "hotlap.zoo.digits has no function 'digit'; take"),
        (
            {"dataset": "hotlap.zoo.images.image_folder", "rot": "x"},
            "data.rot is not an argument of .*image_folder; did you mean 'root'.; it takes root",
        ),
        (
            {"dataset": "hotlap.zoo.images.image_folder", "transform": "x"},
            "data.transform is not an argument of",
        ),
    ],
)
def test_a_mistake_says_what_is_right(data, says):
    with pytest.raises(UserInputError, match=says):
        build(data, DIGITS)


def test_a_module_that_lacks_one_of_its_own_imports_shows_that(tmp_path, monkeypatch):
    (tmp_path / "broken_data.py").write_text("import not_installed_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        build({"dataset": "broken_data.mine"}, DIGITS)
    assert "broken_data" not in sys.modules


def test_data_that_does_not_fill_a_batch_is_refused():
    with pytest.raises(UserInputError, match="only 3 samples.*type model.batch_size=3"):
        check_size([1, 2, 3], 4)
    with pytest.raises(UserInputError, match="a whole number from 1"):
        check_size([1, 2, 3], -1)
    check_size([1, 2, 3], 3)


def test_fewer_classes_than_the_data_has_are_refused():
    digits = build(None, DIGITS)
    with pytest.raises(UserInputError, match="type model.n_classes=10"):
        n_classes_of(digits, 9)
    assert n_classes_of(digits, None) == 10
    assert n_classes_of(digits, 12) == 12
    assert n_classes_of([], None) == 1000
