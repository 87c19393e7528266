"""Loadable: what a checkpoint may hold, so that a run which goes on can read it.

`torch.load(weights_only=True)` runs no code of the file's, and so refuses classes that it does not
know. A state is looked at before anything depends on it: an optimizer's or a model's own part of
it may hold anything.
"""

from __future__ import annotations

import io
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

PLAIN = (type(None), bool, int, float, str, torch.Tensor, torch.nn.Parameter)
"""Types that are read back whatever they hold."""


def plain(state: Any) -> Any:
    """The state with numpy's numbers as Python's: a rate computed with numpy is one of them.

    Containers are new ones, and what else is in them is not copied.
    """
    if isinstance(state, np.generic):
        return state.item()
    if type(state) in (dict, OrderedDict):
        new = type(state)((plain(key), plain(value)) for key, value in state.items())
        if isinstance(new, OrderedDict):
            vars(new).update(vars(state))  # a model's has the versions of its modules there
        return new
    if type(state) in (list, tuple):
        return type(state)(map(plain, state))
    return state


def unreadable(state: Mapping[str, Any]) -> str:
    """What of a state could not be read back, and what to do about it; empty if all of it could.

    Args:
        state: As `plain` gives it.
    """
    found = [fault for name, part in state.items() for fault in _refused(part, name)]
    if not found:
        return ""
    more = f" (and {len(found) - 1} more)" if found[1:] else ""
    return (
        f"{found[0]}{more}, which torch.load(weights_only=True) does not read back; keep numbers, "
        "texts and tensors there, or name its class to torch.serialization.add_safe_globals in "
        "the module of the workload"
    )


def why_unread(error: Exception) -> str:
    """What kept a checkpoint from being read: torch says it after much else."""
    text = str(error) or type(error).__name__
    refused = re.search(r"Unsupported (?:global: GLOBAL|class) (\S+)", text)
    if refused:
        return f"it holds a {refused[1]}, which torch.load(weights_only=True) refuses"
    return text.splitlines()[0]


def _refused(part: Any, at: str) -> Iterator[str]:
    """`<place> is a <type>` for each part that could not be read back."""
    if type(part) in (dict, OrderedDict):
        for key, value in part.items():
            yield from _refused(key, f"a key of {at}")
            yield from _refused(value, f"{at}[{key!r}]")
    elif type(part) in (list, tuple):
        for i, value in enumerate(part):
            yield from _refused(value, f"{at}[{i}]")
    elif type(part) not in PLAIN and not _comes_back(part):
        yield f"{at} is a {type(part).__module__}.{type(part).__qualname__}"


def _comes_back(value: Any) -> bool:
    """Whether torch writes `value` and reads it again. It may raise anything: it is anybody's."""
    file = io.BytesIO()
    try:
        torch.save(value, file)
        file.seek(0)
        torch.load(file, weights_only=True)
    except Exception:
        return False
    return True
