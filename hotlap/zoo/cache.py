"""The cache folder: what is generated once and used by every process of the machine.

No torch here: files can be prepared before a training process exists.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hotlap.aside import aside
from hotlap.errors import UserInputError
from hotlap.lock import take

LOOK_S = 0.5
"""Between two looks whether another process has let go of a lock."""


def cache_folder() -> Path:
    """`$HOTLAP_CACHE`, or else `~/.cache/hotlap`; made if it is not there.

    Raises:
        UserInputError: The folder cannot be made or written to.
    """
    folder = Path(os.environ.get("HOTLAP_CACHE") or "~/.cache/hotlap").expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    if not writable:
        raise UserInputError(
            f"the cache folder {folder} cannot be written to; hotlap keeps generated data there; "
            "name a folder that you may write to: export HOTLAP_CACHE=/path/to/folder"
        )
    return folder


@contextmanager
def lock(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold `path` as a lock; wait while another process holds it.

    The kernel frees it when its holder dies, so a killed process leaves no stale lock. On a file
    system without locks nobody is kept out, which is told.

    Args:
        path: Made if it is not there.
        waiting: Called now and then meanwhile: a trial that is silent for long is ended.
    """
    with path.open("a", encoding="utf-8") as file:
        while True:
            try:
                why_not = take(file.fileno())
                break
            except BlockingIOError:
                waiting()
                time.sleep(LOOK_S)
        if why_not:
            print(
                f"hotlap: {path} cannot be locked ({why_not}): start nothing else that makes "
                f"{path.stem} until it is done",
                file=sys.stderr,
            )
        yield


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file; nobody ever reads half of it."""
    with aside(path) as place:
        place.write_bytes(data)
