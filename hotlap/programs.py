"""Programs: what to type so that the Python that runs now is the one that is started.

An environment need not be active: then a bare `python` is another one, or none. No torch here.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def python(anywhere: bool = False) -> str:
    """How to call this Python: `python` where that is the one, else its path.

    Args:
        anywhere: Whether it is called in another folder than this one.
    """
    ours = sys.executable or "python"
    found = shutil.which("python")
    return "python" if found and _is_one(found, ours) else _near(ours, anywhere)


def program(name: str) -> str:
    """How to call a program that this Python's environment has, quoted for a shell."""
    ours = python()
    if ours == "python":
        return name
    beside = os.path.join(os.path.dirname(sys.executable), name)
    if os.path.exists(beside):
        return shlex.quote(_near(beside, False))
    return f"{shlex.quote(ours)} -m {name}"


def _is_one(found: str, ours: str) -> bool:
    """Whether two paths are one Python in one environment.

    An environment's `python` is a link to the one that it was made with: its folder tells it apart.
    """
    folders = [os.path.realpath(os.path.dirname(os.path.abspath(path))) for path in (found, ours)]
    return folders[0] == folders[1] and os.path.realpath(found) == os.path.realpath(ours)


def _near(path: str, anywhere: bool) -> str:
    """The path as it can be typed here, short if it lies in a folder of the current one."""
    here = Path.cwd()
    if anywhere or not Path(path).parent.is_relative_to(here) or Path(path).parent == here:
        return path
    return str(Path(path).relative_to(here))
