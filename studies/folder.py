"""The study's folder: a new one for each study, and one command at a time in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hotlap.errors import UserInputError
from hotlap.lock import take


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
def held(folder: Path, note: Callable[[str], None]) -> Iterator[None]:
    """Keep other commands out of `folder`; the kernel lets go when this process ends.

    Args:
        folder: A study's.
        note: Takes a sentence for the user, where the file system has no locks.

    Raises:
        UserInputError: Another command is at work in it, or it is not this user's to write in.
    """
    path = folder / ".lock"
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise UserInputError(
            f"nothing can be written in {folder} ({error.strerror}), where the study keeps what it "
            "measures; to go on with it, copy it to a folder of yours: resume=<the copy>"
        ) from None
    with file:
        try:
            why_not = take(file.fileno())
        except BlockingIOError:
            raise UserInputError(
                f"another command is at work in {folder}; wait until it has ended, or leave out "
                "resume= to start a new study"
            ) from None
        if why_not:
            note(
                f"{path} cannot be locked ({why_not}): start no other command in this folder "
                "until the study has ended"
            )
        yield
