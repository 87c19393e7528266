"""The process environment that imposed settings need: this process starts anew with it.

OpenMP and the allocator read theirs when a process starts. `execve` keeps the process id, the
terminal, open files and the place in the process tree, so nobody outside sees a difference. No
torch here: it would be imported twice.
"""

from __future__ import annotations

import os
import sys

from hotlap import environment
from hotlap.errors import InvalidTrial
from hotlap.interpose.imposed import Imposed
from hotlap.notes import Note, one_line, tell

MARK = "_HOTLAP_STARTED_ANEW"
"""Stands in the environment from one start to the next, and never longer."""


def missing(imposed: Imposed, notes: list[Note]) -> dict[str, str]:
    """Variables that the imposed settings need and this process does not have.

    Args:
        imposed: Settings that are not imposed need nothing.
        notes: Gets a note if the allocator's library is not on this machine.
    """
    try:
        wanted = environment.variables(imposed.alone(), os.environ)
    except InvalidTrial as error:
        tell(notes, "allocator", one_line(error))
        wanted = environment.variables(imposed.without(["allocator"]).alone(), os.environ)
    return environment.missing(wanted, os.environ)


def restart(variables: dict[str, str], notes: list[Note]) -> None:
    """Begin this very command again with `variables`, once; returns if there are none.

    Args:
        variables: What `missing` has found.
        notes: Gets a note for each setting whose variables are missing after that start, too.
    """
    again = os.environ.pop(MARK, None) is not None
    if variables and not again:
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **variables, MARK: "1"})
    for setting, names in environment.VARIABLES.items():
        lost = " ".join(f"{name}={variables[name]}" for name in names if name in variables)
        if lost:
            tell(
                notes,
                setting,
                f"it needs {lost} in the environment, and something that Python runs at its start "
                "(sitecustomize, a .pth file) has set it otherwise: take that out",
            )
