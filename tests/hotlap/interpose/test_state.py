"""What counts as a change of a dataset, what is no change, and what is never touched."""

import collections
import random
import sys
from collections.abc import Mapping

import numpy as np
import pytest
import torch

from hotlap.interpose import content
from hotlap.interpose.content import MOST, MOST_BYTES
from hotlap.interpose.state import changed, has_epochs, state


class Rows:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def between(rows, change, data_only=False):
    before = state(rows=rows)
    change(rows)
    return changed(before, state(rows=rows), data_only)


FILES = [f"img_{i}.png" for i in range(3 * MOST)]
SHUFFLE = random.Random(0).shuffle


HELD = {
    "texts": FILES[:50],
    "many texts": FILES,
    "pairs": [(name, i) for i, name in enumerate(FILES)],
    "dicts": [{"file": name, "boxes": [1, 2]} for name in FILES],
    "arrays": [np.zeros(2) for _ in range(10)],
    "an array of texts": np.array(FILES[:9], dtype=object),
    "a large array": np.arange(MOST_BYTES),
    "numbers": list(range(5 * MOST)),
    "a deque": collections.deque(FILES[:9]),
}


@pytest.mark.parametrize("name", HELD)
def test_another_order_of_what_a_dataset_holds_is_a_change(name):
    rows = Rows(held=HELD[name].copy())
    assert between(rows, lambda rows: None) == ""
    assert between(rows, lambda rows: SHUFFLE(rows.held)).endswith("rows.held")


@pytest.mark.parametrize("name", ["text", "pair", "row"])
def test_another_item_among_the_same_number_is_a_change(name):
    held = {"text": FILES[:9], "pair": [(f, 1) for f in FILES[:9]], "row": {f: [f] for f in FILES}}
    rows = Rows(held=held[name].copy())
    other = {"text": "other", "pair": (FILES[0], 2), "row": ["other"]}[name]
    key = FILES[0] if name == "row" else 0

    def change(rows):
        rows.held[key] = other

    assert between(rows, change) == "the items of rows.held"


def test_another_sample_of_the_same_size_is_a_change():
    rows = Rows(held=FILES[:MOST])
    assert between(rows, lambda rows: setattr(rows, "held", FILES[1 : MOST + 1])) != ""
    long = Rows(held=list(FILES))
    assert between(long, lambda rows: setattr(rows, "held", list(FILES))) != ""


def test_numpy_writing_to_a_tensors_memory_is_a_change():
    rows = Rows(held=torch.zeros(9), kept=torch.zeros(9))
    assert between(rows, lambda rows: rows.held.numpy().fill(1)) == "rows.held"


def test_a_cache_an_opened_file_and_a_flag_are_no_data():
    def open_and_keep(rows):
        rows.cache[0], rows.opened, rows.file = [1], True, sys.stdout
        rows.kept[0], rows.large[:] = "a sample", 1

    rows = Rows(cache={}, kept=[None] * 9, large=np.zeros(MOST_BYTES))
    assert between(rows, open_and_keep, data_only=True) == ""
    rows = Rows(cache={}, kept=[None] * 9, large=np.zeros(MOST_BYTES))
    assert between(rows, open_and_keep) != ""
    rows.weights = {"a": 1}
    assert between(rows, lambda rows: rows.weights.update(a=2), data_only=True) == "rows.weights"


class Closed(Mapping):
    def __getitem__(self, key):
        raise ValueError("the file is closed")

    __len__ = __iter__ = keys = values = items = lambda self: self[0]


class Lazy(list):
    def __getitem__(self, key):
        raise RuntimeError("not read yet")

    __len__ = __iter__ = lambda self: self[0]


class Shelf(dict):
    __getitem__ = __len__ = __iter__ = keys = values = items = lambda self, *key: {}[key]


class Unprintable:
    def __repr__(self):
        raise RuntimeError("nobody may ask")

    __eq__ = __hash__ = __len__ = __bool__ = lambda self, *other: repr(self)


class Proxy:
    def __getattribute__(self, name):
        raise RuntimeError("there is nothing behind it")


class Anything:
    def __getattr__(self, name):
        return lambda *args: None


def array_of(one):
    array = np.empty(1, dtype=object)
    array[0] = one
    return array


OWN = {
    "a closed file": Closed,
    "a list that reads": lambda: Lazy([1]),
    "a dict that reads": lambda: Shelf(a=1),
    "no text": Unprintable,
    "no text in a list": lambda: [Unprintable()],
    "no text in a dict": lambda: {"a": Unprintable()},
    "no text in an array": lambda: array_of(Unprintable()),
    "nothing behind it": Proxy,
    "nothing behind one in a list": lambda: [Proxy()],
    "any method": Anything,
    "no numbers to come": random.SystemRandom,
}


@pytest.mark.parametrize("name", OWN)
def test_nothing_of_an_objects_own_is_called(name):
    rows = Rows(held=OWN[name]())
    assert between(rows, lambda rows: None) == "" == has_epochs(rows)


def test_a_tensor_of_inference_has_a_state():
    with torch.inference_mode():
        held = torch.zeros(3)
    rows = Rows(held=held)
    assert between(rows, lambda rows: None) == ""
    with torch.inference_mode():
        assert between(rows, lambda rows: rows.held.add_(1)) == "rows.held"


def test_what_is_looked_at_is_bounded():
    n_asked = 0

    class Many(list):
        pass

    rows = Rows(**{f"held_{i}": Many([FILES] * MOST) for i in range(30)})

    def count(frame, event, arg):
        nonlocal n_asked
        n_asked += event == "call" and frame.f_code is content._short.__code__

    sys.setprofile(count)
    try:
        state(rows=rows)
    finally:
        sys.setprofile(None)
    assert MOST < n_asked <= content.MOST_LEAVES
