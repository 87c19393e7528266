"""The folder of a study or a full run: a new one for each, and one command at a time in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hotlap.errors import UserInputError
from hotlap.lock import take

KEPT = {"study": "what it measures", "full run": "its checkpoints"}
"""What a folder is for, and what is kept in it."""


def new_folder(parent: Path, name: str) -> Path:
    """Make `parent/name`, or `parent/name-2`, ... if somebody has just taken that."""
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
def held(folder: Path, note: Callable[[str], None], what: str = "study") -> Iterator[None]:
    """Keep other commands out of `folder`; the kernel lets go when this process ends.

    Args:
        folder: A study's or a full run's.
        note: Takes a sentence for the user, where the file system has no locks.
        what: Which of the two it is, a key of `KEPT`.

    Raises:
        UserInputError: Another command is at work in it, or it is not this user's to write in.
    """
    path = folder / ".lock"
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise UserInputError(
            f"nothing can be written in {folder} ({error.strerror}), where the {what} keeps "
            f"{KEPT[what]}; to go on with it, copy it to a folder of yours: resume=<the copy>"
        ) from None
    with file:
        try:
            why_not = take(file.fileno())
        except BlockingIOError:
            raise UserInputError(
                f"another command is at work in {folder}; wait until it has ended, or leave out "
                f"resume= to start a new {what}"
            ) from None
        if why_not:
            note(
                f"{path} cannot be locked ({why_not}): start no other command in this folder "
                f"until the {what} has ended"
            )
        yield
