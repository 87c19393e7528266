"""Lines of hotlap's own in a script's process: on standard error, and nowhere if it has none."""

from __future__ import annotations

import contextlib
import sys


def say(line: str) -> None:
    """Print it; a script may have closed its standard error, or have begun without one."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:  # print would take standard output
            print(f"hotlap: {line}", file=sys.stderr)
