"""What a dataset holds, as far as it can be compared later: did it become another one?

Workers have a copy of the dataset. What the main process changes afterwards does not reach them,
and what the dataset changes in itself while it is read does not reach the main process. Two
states are compared. A generator of random numbers counts by what it will draw; hotlap/interpose/
content.py says how much of all else is looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

from hotlap.interpose.content import Digests, Value, is_container, value_of

DEPTH = 4
"""Objects within objects are looked into so deep."""

MOST = 1000
"""So many attributes are looked at in all, and so many objects of a list."""

ITEMS = "the items of "
"""How the place begins of what a container holds."""

State = dict[str, Value]
"""Place, such as `dataset.epoch` -> kind and value; "number" and "content" are data."""

Skips = Callable[[Any], bool]


def state(data_only: bool = False, skips: Skips | None = None, **parts: Any) -> State:
    """The state of each part, under its name.

    Args:
        data_only: Whether to leave out what `changed` does not look at then: it takes time.
        skips: Tells of which objects nothing is looked at.
        parts: What to look at.
    """
    found: State = {}
    digests = Digests()
    pairs = (pair for name, part in parts.items() for pair in attributes(part, name, skips=skips))
    for place, value in itertools.islice(pairs, MOST):
        found[place] = value_of(value)
        if not data_only and is_container(value):
            found[ITEMS + place] = "cache", digests.of(value)
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
    for place, value in itertools.islice(
        itertools.chain([("dataset", dataset)], attributes(dataset, "dataset")), MOST
    ):
        # Not asked of the object: one that stands for something far away has any method.
        if callable(getattr(type(value), "set_epoch", None)):
            return place
    return ""


def attributes(
    owner: Any, place: str, depth: int = DEPTH, skips: Skips | None = None
) -> Iterator[tuple[str, Any]]:
    """Attributes of an object, of the objects in them and in their lists, each with its place."""
    for name, value in list(_own(owner).items()):
        if skips is not None and skips(value):
            continue
        here = f"{place}.{name}"
        yield here, value
        if depth:
            if type(value) in (list, tuple):
                for i, part in enumerate(value[:MOST]):
                    yield from attributes(part, f"{here}[{i}]", depth - 1, skips)
            else:
                yield from attributes(value, here, depth - 1, skips)


def _own(owner: Any) -> dict[str, Any]:
    """An object's own attributes, read without any code of its class; none of a module's."""
    kinds = (type, ModuleType, FunctionType, torch.Tensor, torch.nn.Module, np.ndarray)
    if issubclass(type(owner), kinds):
        return {}
    try:
        found = object.__getattribute__(owner, "__dict__")
    except AttributeError:  # of a built-in kind, or with slots alone
        return {}
    return found if type(found) is dict else {}
