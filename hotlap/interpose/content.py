"""What a value holds, in short, to be compared with what the same place holds later.

None of the script's own code is called: built-in containers are read by the built-in types' own
methods, whatever a subclass makes of them, and other objects (a group of an HDF5 file, a shelf on
disk) count by identity. What is read of a large value is bounded.
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

MOST = 1000
"""So many items of a container are looked at, and elements of a large array, spread over it."""

MOST_BYTES = 1 << 16
"""Arrays up to this size are compared by their whole content."""

MOST_WITHIN = 20
"""Of an item that is a container itself so many are looked at: a row of a table of samples."""

MOST_LEAVES = 20_000
"""So many items are looked at for one state: some 10 ms."""

DEPTH = 3
"""Containers within containers are looked into so deep."""

ENDS = 64
"""Of a long text so many characters of its beginning and its end are looked at."""

Value = tuple[str, Any]
"""Its kind and what is compared; kinds "number" and "content" are data."""

BUILT_IN = (list, tuple, dict, set, frozenset, deque)


def value_of(value: Any) -> Value:
    """The kind of a value and what is compared of it."""
    try:
        return _value(value)
    except Exception:
        # Whatever cannot be read, as the numbers of a generator that the system has, is the same
        # as long as it is that object.
        return "object", id(value)


def is_container(value: Any) -> bool:
    """Whether `Digests` can say more of it than `value_of`."""
    return issubclass(type(value), BUILT_IN) or _holds_objects(value)


class Digests:
    """Digests of containers' items of any kind: texts by what they say, objects by identity.

    One state takes all its digests from one of these, so that the looking is bounded in all.
    """

    def __init__(self) -> None:
        self._n_left = MOST_LEAVES

    def of(self, container: Any) -> int:
        """The digest of a container; those of two processes cannot be compared."""
        try:
            found = hash("\0".join(self._leaves(container, MOST, DEPTH)))
            # Of a long one not all is looked at, so another object in its place counts.
            return hash((found, id(container) if _items(container, MOST)[0] > MOST else 0))
        except Exception:  # one that another thread is writing to, or a number too long for text
            return id(container)

    def _leaves(self, value: Any, most: int, depth: int) -> Iterator[str]:
        if not depth or not is_container(value):
            yield _short(value)
            return
        n, items = _items(value, most)
        yield f"{type(value).__name__} of {n}"
        for item in items:
            self._n_left -= 1
            if self._n_left < 0:
                return
            yield from self._leaves(item, MOST_WITHIN, depth - 1)


def _value(value: Any) -> Value:
    kind = type(value)
    if kind in (bool, str, bytes, type(None)):
        return "flag", value
    if issubclass(kind, (int, float)):
        return "number", _number(value)
    if issubclass(kind, np.generic):
        return "number", (value.dtype.str, value.tobytes())
    if issubclass(kind, torch.Tensor):
        return "content", (id(value), *_tensor(value))
    if issubclass(kind, np.ndarray):
        return _array(value)
    if issubclass(kind, np.random.Generator):
        return "content", repr(value.bit_generator.state)
    if issubclass(kind, random.Random):
        return "content", hash(repr(value.getstate()))
    if issubclass(kind, np.random.RandomState):
        return "content", hash(repr(value.get_state()))
    if issubclass(kind, torch.Generator):
        return "content", hash(value.get_state().numpy().tobytes())
    if issubclass(kind, BUILT_IN):
        if issubclass(kind, dict):
            numbers = _numbers(itertools.islice(dict.values(value), MOST))
            # Samples that a dataset keeps stand in a dict as a rule.
            return ("content" if numbers else "cache"), (dict.__len__(value), numbers)
        n, items = _items(value, MOST)
        return "content", (n, _numbers(items))
    return "object", id(value)


def _tensor(value: torch.Tensor) -> tuple[Any, ...]:
    if value.is_inference():  # its changes are not counted
        return (_sampled(value),)
    return value._version, _sampled(value)


def _sampled(value: torch.Tensor) -> int:
    """Of elements in host memory: numpy may have written to them, which torch does not count."""
    plain = type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout == torch.strided
    if not plain or value.device.type != "cpu" or value.is_nested or not value.is_contiguous():
        return 0
    some = value.detach().reshape(-1)[:: _stride(value.numel(), MOST)]
    return zlib.crc32(some.contiguous().view(torch.uint8).numpy().tobytes())


def _array(value: np.ndarray[Any, Any]) -> Value:
    if issubclass(type(value), np.memmap):
        return "object", (id(value), value.shape)  # its content lies in a file
    plain = np.ndarray.view(value, np.ndarray)
    if _holds_objects(value):
        return "content", plain.shape
    if plain.nbytes <= MOST_BYTES:
        return "content", (plain.shape, zlib.crc32(plain.tobytes()))
    # A large one may be where a dataset keeps its samples.
    return "cache", (plain.shape, zlib.crc32(plain.flat[:: _stride(plain.size, MOST)].tobytes()))


def _holds_objects(value: Any) -> bool:
    return issubclass(type(value), np.ndarray) and bool(value.dtype.hasobject)


def _items(value: Any, most: int) -> tuple[int, Iterable[Any]]:
    """How many items a container has, and up to about `most` of them."""
    if issubclass(type(value), np.ndarray):
        plain = np.ndarray.view(value, np.ndarray)
        return plain.size, plain.flat[:: _stride(plain.size, most)].tolist()
    kind: Any = next(one for one in BUILT_IN if issubclass(type(value), one))
    n = kind.__len__(value)
    if kind in (list, tuple):
        return n, (kind.__getitem__(value, i) for i in range(0, n, _stride(n, most)))
    if kind is dict:
        pairs = itertools.islice(dict.items(value), most)
        return n, itertools.chain.from_iterable(pairs)
    return n, itertools.islice(kind.__iter__(value), most)


def _stride(n: int, most: int) -> int:
    """Every so manyth of `n` items is looked at, so that they are `most` at the most."""
    return max(1, -(-n // most))


def _numbers(items: Iterable[Any]) -> str:
    """The items as text if they all are numbers, else ""."""
    found = []
    for item in items:
        if not issubclass(type(item), (int, float)):
            return ""
        found.append(_number(item))
    return f"[{', '.join(found)}]"


def _number(value: Any) -> str:
    return int.__repr__(value) if issubclass(type(value), int) else float.__repr__(value)


def _short(value: Any) -> str:
    """An item by its value if it is of a plain kind, else by its identity."""
    kind = type(value)
    if kind in (str, bytes):
        whole = len(value) <= 2 * ENDS
        return repr(value if whole else (len(value), value[:ENDS], value[-ENDS:]))
    if kind in (bool, int, float, complex, type(None)):
        return repr(value)
    return f"{kind.__name__} {id(value)}"
