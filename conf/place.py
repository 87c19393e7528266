"""A place as the user types it: `~` is the home folder, for who checks and for who writes."""

from __future__ import annotations

import os
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


def bank_folder(name: str, path: str | None) -> Path | None:
    """Where the bank is: `path`, or the default, in the user's cache; None for the name "none".

    The default follows the XDG Base Directory Specification: $XDG_CACHE_HOME where that is an
    absolute path, else ~/.cache.

    Raises:
        RuntimeError: This user has no home folder in which it could be.
    """
    if name == "none":
        return None
    cache = os.environ.get("XDG_CACHE_HOME", "")
    usual = Path(cache if os.path.isabs(cache) else "~/.cache") / "hotlap" / "bank"
    return place_of(usual if path is None else path).absolute()
