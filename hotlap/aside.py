"""Writing a file aside and renaming it into place: nobody ever reads half of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to. It becomes `path` at the end, and goes away at an error.

    So a full disk leaves the file that was there before, and no half of a new one.
    """
    place = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield place
        place.replace(path)
    except BaseException:
        if place.exists():
            # The error's frames may hold it open, and with it the room that it takes.
            os.truncate(place, 0)
            place.unlink()
        raise
