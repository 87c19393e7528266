"""Tensors within containers: tuples, lists, dicts, named tuples and dataclasses, however deep."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import torch


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """`value` with `change` done to each tensor in it.

    A container in which nothing changed is that same object; another one is a shallow copy of its
    own kind, so that what the script holds is never altered. Objects that are no container, and
    mappings that cannot be written to, come back as they are.
    """
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (tuple, list)):
        return _sequence(value, [mapped(item, change) for item in value])
    if isinstance(value, MutableMapping):
        return _changed(value, {key: mapped(item, change) for key, item in value.items()})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value, change)
    return value


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in `value`, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, Mapping):
        yield from tensors(list(value.values()))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from tensors([getattr(value, f.name, None) for f in dataclasses.fields(value)])


def _sequence(old: Any, items: list[Any]) -> Any:
    if all(a is b for a, b in zip(old, items, strict=True)):
        return old
    return type(old)(*items) if hasattr(old, "_fields") else type(old)(items)


def _changed(old: MutableMapping[Any, Any], items: dict[Any, Any]) -> Any:
    moved = {key: item for key, item in items.items() if item is not old[key]}
    if not moved:
        return old
    twin = copy.copy(old)
    for key, item in moved.items():
        twin[key] = item  # a mapping with attributes of its own keeps the two in step
    return twin


def _fields(old: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    before = {f.name: getattr(old, f.name, None) for f in dataclasses.fields(old)}
    after = {name: mapped(item, change) for name, item in before.items()}
    moved = {name: item for name, item in after.items() if item is not before[name]}
    if not moved:
        return old
    twin = copy.copy(old)
    for name, item in moved.items():
        object.__setattr__(twin, name, item)  # frozen ones as well
    return twin
