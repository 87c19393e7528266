"""What a dataset holds, as far as it can be compared later: did it become another one?

Workers have a copy of the dataset. What the main process changes afterwards does not reach them,
and what the dataset changes in itself while it is read does not reach the main process. Two
states are compared. Large arrays are not read, a generator of random numbers counts by what it
will draw, and objects of other kinds count by identity.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import random
import select
import signal
import warnings
import zlib
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

DEPTH = 4
"""Objects within objects are looked into so deep."""

MOST = 1000
"""So many items of a container are looked at, and so many attributes in all."""

MOST_BYTES = 1 << 16
"""Arrays up to this size are compared by their content."""

TRY_S = 5.0
"""Samples that take longer tell nothing."""

State = dict[str, tuple[str, Any]]
"""Place, such as `dataset.epoch` -> kind and value; "number" and "content" are data."""


def state(**parts: Any) -> State:
    """The state of each part, under its name."""
    found: State = {}
    for name, part in parts.items():
        for place, value in _attributes(part, name, DEPTH):
            if len(found) >= MOST:
                break
            found[place] = _value(value)
    return found


def changed(before: State, after: State, data_only: bool = False) -> str:
    """The first place that differs, or "".

    Args:
        before: The state then.
        after: The state now.
        data_only: Whether only numbers and contents count: an opened file, a cache of samples or
            a flag is no change.
    """
    for place in [*before, *(after.keys() - before.keys())]:
        kinds = {kind for kind, _ in (before.get(place, ("", 0)), after.get(place, ("", 0)))}
        if before.get(place) != after.get(place):
            if not data_only or kinds in ({"number"}, {"content"}, {"", "number"}):
                return place
    return ""


def has_epochs(dataset: Any) -> str:
    """Where it has a method `set_epoch`, or ""."""
    if callable(getattr(dataset, "set_epoch", None)):
        return "dataset"
    for place, value in itertools.islice(_attributes(dataset, "dataset", DEPTH), MOST):
        if callable(getattr(value, "set_epoch", None)):
            return place
    return ""


def changed_by_drawing(dataset: Any, collate_fn: Any) -> str:
    """What changes in a dataset or its collate_fn when samples are drawn, or "".

    Two samples are drawn in a forked process: neither the dataset here nor any random number
    changes. Where that is not possible, or a sample cannot be drawn so, nothing is found.
    """
    if not hasattr(os, "fork") or not hasattr(dataset, "__dict__"):
        return ""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads: a loader's worker has them
        pid = os.fork()
    if pid == 0:
        try:
            os.write(write, _draw(dataset, collate_fn).encode())
        except BaseException:
            os._exit(1)  # what is wrong with a sample is the script's to meet
        os._exit(0)
    os.close(write)
    ready, _, _ = select.select([read], [], [], TRY_S)
    answer = os.read(read, 65536).decode() if ready else ""
    os.close(read)
    # A SIGCHLD handler of the script's own may have been first.
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return answer


def _draw(dataset: Any, collate_fn: Any) -> str:
    gc.disable()  # nothing of the script's may be finalized here
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    torch.set_num_threads(1)  # others did not survive the fork
    before = state(dataset=dataset, collate_fn=collate_fn)
    with contextlib.suppress(IndexError):  # a very short one
        samples = [dataset[i] for i in range(2)]
        collate_fn(samples)
    return changed(before, state(dataset=dataset, collate_fn=collate_fn), data_only=True)


def _attributes(owner: Any, place: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Attributes of an object, of the objects in them and in their lists, each with its place."""
    if not _is_looked_into(owner):
        return
    for name, value in list(vars(owner).items()):
        here = f"{place}.{name}"
        yield here, value
        if depth:
            if type(value) in (list, tuple):
                for i, part in enumerate(value[:MOST]):
                    yield from _attributes(part, f"{here}[{i}]", depth - 1)
            else:
                yield from _attributes(value, here, depth - 1)


def _is_looked_into(value: Any) -> bool:
    kinds = (type, ModuleType, FunctionType, torch.Tensor, torch.nn.Module, np.ndarray)
    return isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, kinds)


def _value(value: Any) -> tuple[str, Any]:
    if isinstance(value, (bool, str, bytes, type(None))):
        return "flag", value
    if isinstance(value, (int, float)):
        return "number", repr(value)
    if isinstance(value, torch.Tensor):
        return "content", (id(value), value._version)
    if isinstance(value, np.ndarray):
        small = value.nbytes <= MOST_BYTES and not value.dtype.hasobject
        return "content", (value.shape, zlib.crc32(value.tobytes()) if small else 0)
    if isinstance(value, np.random.Generator):
        return "content", repr(value.bit_generator.state)
    if isinstance(value, (np.random.RandomState, random.Random)):
        state_now = value.getstate if isinstance(value, random.Random) else value.get_state
        return "content", hash(repr(state_now()))
    if isinstance(value, torch.Generator):
        return "content", hash(value.get_state().numpy().tobytes())
    if isinstance(value, Mapping):
        numbers = _numbers(list(value.values())[:MOST])
        return ("content" if numbers else "cache"), (len(value), numbers)
    if isinstance(value, (list, tuple, set)) or type(value).__name__ == "deque":
        return "content", (len(value), _numbers(list(value)[:MOST]))
    return "object", id(value)


def _numbers(values: list[Any]) -> str:
    return repr(values) if all(isinstance(one, (int, float)) for one in values) else ""
