"""Console scripts: whether a program on the search path is Python's, and of which environment.

Its first line names the Python that has what it imports. Where a kernel could not take that line
(the path has a space, or is longer than 127 characters) pip and uv let a shell start that Python:

    #!/bin/sh
    '''exec' "/my folder/bin/python" "$0" "$@"
    ' '''

which Python reads as a comment and a text.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

LONGEST = 1 << 13
"""Bytes of a line: a path has 4,096 at the most."""


def why_not(program: str) -> str:
    """Why this Python should not run a program, or "".

    One that names no environment (`/usr/bin/env python3`) is run by whatever Python there is.
    """
    python = _python_of(program)
    if not python:
        return "is no Python program"
    if os.sep not in python or _environment(python) in _environments(sys.executable):
        return ""
    return (
        f"is a program of another Python ({python}), whose packages this one ({sys.executable}) "
        "does not have"
    )


def _python_of(program: str) -> str:
    """The Python that its first lines name, or ""."""
    with open(program, "rb") as file:
        first, second = (os.fsdecode(file.readline(LONGEST)) for _ in range(2))
    if not first.startswith("#!"):
        return ""
    words = first[2:].split()
    if second.startswith("'''exec' "):
        import shlex  # only now: a script may have a module of its own by that name

        try:
            words = shlex.split(second)[1:]
        except ValueError:  # a quotation without an end: no shell would take it either
            return ""
    named = next((word for word in words if "python" in os.path.basename(word)), "")
    if "$" in named:  # uv's relocatable ones: the Python beside the program, wherever that lies
        beside = os.path.dirname(os.path.realpath(program))
        return os.path.join(beside, os.path.basename(named))
    return named


def _environments(python: str) -> list[Path]:
    """Those whose packages a Python has: a virtual one may have its base's, too."""
    own = _environment(python)
    try:
        text = (own / "pyvenv.cfg").read_text(encoding="utf-8")
    except OSError:  # it is no virtual one
        return [own]
    lines = (line.partition("=") for line in text.splitlines())
    said = {key.strip().lower(): value.strip() for key, _, value in lines}
    if said.get("include-system-site-packages", "").lower() != "true":
        return [own]
    # Of any depth: `home` is the folder of the Python on which they all stand.
    return [own, Path(said.get("home", "")).resolve().parent]


def _environment(python: str) -> Path:
    """The folder of a Python's environment; in a virtual one it is a link to another's."""
    folder = Path(os.path.dirname(python)).resolve().parent
    if (folder / "pyvenv.cfg").is_file():
        return folder
    return Path(python).resolve().parent.parent
