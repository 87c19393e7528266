"""The cache folder: what is generated once and used by every process of the machine.

No torch here: files can be prepared before a training process exists.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hotlap.errors import UserInputError


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
def lock(path: Path) -> Iterator[None]:
    """Hold `path` as a lock; wait while another process holds it.

    The kernel frees it when its holder dies, so a killed process leaves no stale lock.
    """
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"hotlap: another process is at work on {path.stem}; waiting", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file aside and rename it into place: nobody ever reads half of it."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_bytes(data)
    aside.replace(path)
