"""The clone's own scripts as a user types them, for benchmarks that go by what they leave."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.machine import ROOT


def script(
    name: str,
    folder: Path,
    words: Sequence[str],
    verbose: bool = False,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a script of the clone without MLflow, and return what it printed, unless it was shown.

    Args:
        name: Such as `tune.py`.
        folder: Where it runs.
        words: Its command line.
        verbose: Show what it prints.
        environment: Variables beside this process's own.

    Raises:
        SystemExit: It failed; with all that it printed.
    """
    done = subprocess.run(
        [sys.executable, str(ROOT / name), *words, "tracking=none"],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=None if verbose else subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout or ''}\n{name} ended with code {done.returncode}")
    return done.stdout or ""
