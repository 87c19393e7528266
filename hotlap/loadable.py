"""Loadable: what a checkpoint may hold, so that a run which goes on can read it.

`torch.load(weights_only=True)` runs no code of the file's, and so refuses classes that it does not
know. A state is looked at before anything depends on it: an optimizer's or a model's own part of
it may hold anything.
"""

from __future__ import annotations

import errno
import io
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hotlap.errors import UserInputError, chain
from hotlap.resources import OUT_OF_MEMORY

PARTS = ("model", "optimizer", "scaler", "position")
"""What a run needs of a checkpoint to go on."""

MAX_LINE = 300

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


def read(path: Path) -> dict[str, Any]:
    """What the checkpoint of a full run holds, its tensors in host memory.

    What is loaded into takes its own to its device, and Adam's count of steps stays where torch
    reads it at each step without waiting for a device.

    Raises:
        UserInputError: It cannot be read, or is of something else.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch's, pickle's, zipfile's: damaged bytes may raise any
        if of_the_machine(error):
            raise
        raise UserInputError(f"the checkpoint {path} {_why_unread(error)}") from None
    if lacking := [name for name in PARTS if not isinstance(state, dict) or name not in state]:
        raise UserInputError(
            f"{path} is no checkpoint of a full run, for it has no {lacking[0]}; name the one that "
            "train.py has saved, checkpoint.pt in the run's folder"
        )
    return dict(state)


def of_the_machine(error: Exception) -> bool:
    """Whether it says nothing about a checkpoint: memory is short, or the device fails.

    It is told as what it is. A model that loads has such an error within the words of its own.
    """
    return any(
        isinstance(one, MemoryError) or OUT_OF_MEMORY.search(str(one)) or "CUDA error" in str(one)
        for one in chain(error)
    )


def why_other(error: Exception) -> str:
    """The first thing in which a checkpoint does not fit: torch begins with a line that says none.

    What torch lists in one line, the keys that are missing, may be thousands of characters.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = next((line for line in lines if not line.endswith(":")), type(error).__name__)
    return first if len(first) <= MAX_LINE else f"{first[:MAX_LINE]}..."


def _why_unread(error: Exception) -> str:
    """What kept a checkpoint from being read: torch says it after much else."""
    text = str(error)
    if refused := re.search(r"Unsupported (?:global: GLOBAL|class) (\S+)", text):
        return (
            f"cannot be read: it holds a {refused[1]}, which torch.load(weights_only=True) "
            "refuses; name its class to torch.serialization.add_safe_globals in the module of the "
            "workload"
        )
    # Where a file's end is missing, torch asks for a place before its beginning: EINVAL.
    if isinstance(error, OSError) and error.errno != errno.EINVAL:
        return f"cannot be read: {text}"
    # Of bytes that make no sense to it, torch says at length how to trust them.
    says = "" if text.startswith("Weights only") or not text else f": {text.splitlines()[0]}"
    return (
        f"is damaged ({type(error).__name__}{says}); go on from another one that was kept, "
        "resume=<its file>, or begin anew without resume="
    )


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
    """Whether torch writes `value` and reads it again, as far as the machine lets it.

    It may raise anything: it is anybody's.
    """
    file = io.BytesIO()
    try:
        torch.save(value, file)
        file.seek(0)
        torch.load(file, weights_only=True)
    except Exception as error:
        return of_the_machine(error)
    return True
