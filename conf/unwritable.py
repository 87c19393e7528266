"""Whether something can be written at a path, found out before hours of work that end there."""

from __future__ import annotations

import tempfile
from pathlib import Path


def no_file(path: Path) -> str:
    """Why no file can be written at `path`; empty if one can. Its folders may have to be made."""
    try:
        if path.exists() and not path.is_file():
            return "that is no file that keeps what is written to it"
    except (OSError, ValueError, RuntimeError) as error:
        return f"there can be no such file ({error})"
    return nothing_in(path.parent)


def nothing_in(folder: Path) -> str:
    """Why nothing can be written in `folder`, which may have to be made; empty if it can."""
    try:
        folder = folder.expanduser().absolute()
        there = next(place for place in (folder, *folder.parents) if place.exists())
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
