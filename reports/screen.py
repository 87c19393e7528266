"""Where everything is printed."""

from __future__ import annotations

import os
import sys
from typing import IO, Any, cast

from rich.console import Console

LOG_WIDTH = 120
"""Columns of what is no terminal: rich would break lines after 80."""


class Screen(Console):
    """A console that nobody has to read: `python tune.py ... | head -1` still ends its study.

    So does one whose terminal was closed, or whose log lies on a full disk. A text is printed as it
    is: in a path or an error that names `[lr=0.1]` or `:key:` rich would see a style or a picture.
    """

    def __init__(self, **more: Any) -> None:
        super().__init__(markup=False, emoji=False, **more)

    def on_broken_pipe(self) -> None:
        """Print no more, where rich would end the program."""
        self.quiet = True
        unread = os.fstat(sys.stdout.fileno())
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for fd in (1, 2):  # with 2>&1 the errors went into the same pipe
            if os.path.samestat(os.fstat(fd), unread):
                os.dup2(nowhere, fd)
        os.close(nowhere)


class Output:
    """Standard output, whose every error is that of a pipe which nobody reads.

    rich knows that one only. A terminal that was closed has another, and so has a full disk.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """As the file's."""
        try:
            return self._file.write(text)
        except OSError as error:
            raise BrokenPipeError(*error.args) from error

    def flush(self) -> None:
        """As the file's."""
        try:
            self._file.flush()
        except OSError as error:
            raise BrokenPipeError(*error.args) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def console() -> Console:
    """The screen, or the file or pipe that stands for it."""
    output = cast("IO[str]", Output(sys.stdout))
    plain = Screen(file=output)
    return plain if plain.is_terminal else Screen(file=output, width=LOG_WIDTH)
