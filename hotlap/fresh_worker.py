"""A trial's process that starts anew, without torch: for scripts that write the environment first.

torch and OpenMP read some variables once, when they are imported. A worker forked from a server
that has imported torch would not hear what a script writes there before its own import.
`execve` keeps the process id, the group, the death signal and the log.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

FLAG = "--fresh-worker="
"""Stands before the trial's folder, in place of the modules that a server imports."""

SCRIPT_WORKER = "hotlap.script.worker"
"""Has a function `main(folder)` that gives the exit code, and imports no torch by itself."""


def wanted(folder: Path) -> bool:
    """Whether the job in `folder` asks for a fresh interpreter.

    Raises:
        OSError: There is no job.
        ValueError: It is no JSON.
    """
    script = json.loads((folder / "job.json").read_text(encoding="utf-8")).get("script")
    return bool(script and script.get("fresh"))


def start(folder: Path, environment: Mapping[str, str]) -> NoReturn:
    """Begin this process anew, by the server's own command, as the worker of the job in `folder`.

    Args:
        folder: The trial's folder.
        environment: The server's, as it was before its imports.
    """
    os.execve(sys.executable, [*sys.orig_argv[:-1], f"{FLAG}{folder}"], environment)


def main(folder: Path) -> NoReturn:
    """The fresh interpreter's part."""
    from hotlap.fork_server import name_semaphores

    name_semaphores()
    work(lambda: int(importlib.import_module(SCRIPT_WORKER).main(folder)))


def work(do: Callable[[], int]) -> NoReturn:
    """Do a trial's work, and end this process with the exit code that it gives."""
    code = 1
    try:
        code = do()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        # No exit handlers: loader workers and threads are the server's to end, at once.
        os._exit(code)
