"""Room on a disk: whether there is none left, and whether an error comes from that.

A trial that ended for want of room tells nothing about its settings, and the next one would end
in the same way. No torch here: the tuner uses this too.
"""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from hotlap.errors import NoRoom, chain

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A full disk, a user's share of it that is used up, a file at the size that is allowed."""

SQLITE_FULL = "database or disk is full"
"""SQLite's words for the same."""

ROOM_BYTES = 1 << 16
"""With less a trial cannot write down what it measures; its log alone may take as much."""


def no_room(error: BaseException) -> str:
    """What is full, in words, if that is what `error` comes from; else empty."""
    for one in chain(error):
        if isinstance(one, NoRoom):
            return str(one)
        if isinstance(one, OSError) and one.errno in NO_ROOM:
            return _words(one)
        if SQLITE_FULL in str(one):
            return SQLITE_FULL
    return ""


def takes_no_more(folder: Path) -> str:
    """Why not even a small file can be written in `folder` for want of room; empty if it can."""
    try:
        # What is free by the file system's count is not all: there are quotas and reserves.
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * ROOM_BYTES)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return no_room(error)
    return ""


def _words(error: OSError) -> str:
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror}{where}"
