"""The study's folder: a new one for each study, and one command at a time in it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hotlap.errors import UserInputError


def new_folder(parent: Path, name: str) -> Path:
    """Make `parent/name`, or `parent/name-2`, ... if another study has just taken that."""
    parent.mkdir(parents=True, exist_ok=True)
    n = 1
    while True:
        folder = parent / (name if n == 1 else f"{name}-{n}")
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            n += 1


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other commands out of `folder`; the kernel lets go when this process ends.

    Raises:
        UserInputError: Another command is at work in it.
    """
    with (folder / ".lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserInputError(
                f"another command is at work in {folder}; wait until it has ended, or leave out "
                "resume= to start a new study"
            ) from None
        yield
