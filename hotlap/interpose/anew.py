"""A script that begins anew in its own place, as for PYTHONHASHSEED or LD_LIBRARY_PATH.

What it becomes is a plain Python again, or any other program, and nothing is in force there. No
exit handler runs before, so this is heard where it happens. No torch here.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

ADVICE = (
    "if it begins anew with another environment, set that beforehand (as PYTHONHASHSEED=0 in front "
    "of the command)"
)


def hear_anew(heard: Callable[[str], None]) -> None:
    """Call `heard` with the program that this process is about to become.

    os.execl, os.execvp and the others go through these two functions as well. A process that the
    script has forked is free to become something else.
    """
    process = os.getpid()
    for name in ("execv", "execve"):
        setattr(os, name, _hearing(getattr(os, name), process, heard))


def _hearing(become: Any, process: int, heard: Callable[[str], None]) -> Any:
    @functools.wraps(become)
    def hearing(*args: Any, **kwargs: Any) -> Any:
        path: Any = args[0] if args else kwargs.get("path")
        if os.getpid() == process and _runs(path):
            heard(os.fsdecode(path))
        return become(*args, **kwargs)

    return hearing


def _runs(path: Any) -> bool:
    """Whether there is such a program: each folder of the search path is tried in turn."""
    known = isinstance(path, (str, bytes, os.PathLike))
    return known and os.path.isfile(path) and os.access(path, os.X_OK)
