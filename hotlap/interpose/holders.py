"""Who holds a loader's iterator: the loader itself, where workers are kept, or a loop as well."""

from __future__ import annotations

import sys
from typing import Any


def n_holders(loader: Any) -> int:
    """References to the iterator that a loader keeps: a loop that is not done holds it too."""
    return sys.getrefcount(loader.__dict__["_iterator"])


def is_held(loader: Any) -> bool:
    """Whether somebody else has it; another loader may have taken its place."""
    return loader.__dict__["_iterator"] is not None and n_holders(loader) > ALONE


def is_gone_through(loader: Any) -> bool:
    """Whether a pass whose iterator is still there goes on: not if its loader alone has that.

    Args:
        loader: A DataLoader, or None if it is gone itself.
    """
    kept = loader is not None and vars(loader).get("_iterator") is not None
    return not kept or n_holders(loader) > ALONE


class _Alone:
    """Keeps an iterator that nobody else holds."""

    def __init__(self) -> None:
        self._iterator = object()


ALONE = n_holders(_Alone())
