"""Where everything is printed."""

from __future__ import annotations

import os
import sys

from rich.console import Console

LOG_WIDTH = 120
"""Columns of what is no terminal: rich would break lines after 80."""


class Screen(Console):
    """A console that nobody has to read: `python tune.py ... | head -1` still ends its study."""

    def on_broken_pipe(self) -> None:
        """Print no more, where rich would end the program."""
        self.quiet = True
        unread = os.fstat(sys.stdout.fileno())
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for fd in (1, 2):  # with 2>&1 the errors went into the same pipe
            if os.path.samestat(os.fstat(fd), unread):
                os.dup2(nowhere, fd)
        os.close(nowhere)


def console() -> Console:
    """The screen, or the file or pipe that stands for it."""
    plain = Screen()
    return plain if plain.is_terminal else Screen(width=LOG_WIDTH)
