"""A place as the user types it: `~` is the home folder, for who checks and for who writes."""

from __future__ import annotations

from pathlib import Path


def place_of(typed: str | Path) -> Path:
    """The path that is meant.

    Raises:
        RuntimeError: It begins with `~` and there is no such user, or no home folder.
    """
    return Path(typed).expanduser()


def is_folder(typed: str | Path) -> bool:
    """Whether there is such a folder; not so, too, where nobody may look or the name is none."""
    try:
        return place_of(typed).is_dir()
    except (OSError, ValueError, RuntimeError):  # the first up to Python 3.13
        return False
