"""Whether something can be written at a path, found out before hours of work that end there."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from conf.place import place_of


def no_file(path: str | Path) -> str:
    """Why no file can be written at `path`; empty if one can. Its folders may have to be made."""
    try:
        place = place_of(path)
        mode = _mode(place)
    except (OSError, ValueError, RuntimeError) as error:
        return f"there can be no such file ({error})"
    if mode is not None and not stat.S_ISREG(mode):
        return "that is no file that keeps what is written to it"
    return nothing_in(place.parent)


def nothing_in(folder: str | Path) -> str:
    """Why nothing can be written in `folder`, which may have to be made; empty if it can."""
    try:
        place = place_of(folder).absolute()
        there = next(one for one in (place, *place.parents) if _mode(one) is not None)
    except (OSError, ValueError, RuntimeError) as error:
        return f"there can be no such folder ({error})"
    if not there.is_dir():
        return f"{there} is no folder"
    try:
        # What a mode says is not all: a file system may be read-only, or full.
        with tempfile.TemporaryFile(dir=there):
            return ""
    except OSError as error:
        return f"nothing can be written in {there} ({error.strerror or error})"


def _mode(path: Path) -> int | None:
    """What kind of thing is there; None if nothing is.

    Path.exists would not do: from Python 3.14 on it takes what nobody may look at for nothing.
    """
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):  # a file on the way is found as a parent
        return None
