"""Ahead: what is kept of batches that were fetched and are not trained on yet."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """Keeps something for each batch that came, until its unit is done.

    Batches that are never trained on (an evaluation's) are forgotten, the oldest first.

    Args:
        most: For so many batches.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: dict[int, T] = {}

    def put(self, batch: Any, kept: T) -> None:
        """A batch has come."""
        self._of.pop(id(batch), None)  # another one, which had its place in memory
        self._of[id(batch)] = kept
        if len(self._of) > self._most:
            del self._of[next(iter(self._of))]

    def take(self, batch: Any) -> T | None:
        """What was kept for this one, once."""
        return self._of.pop(id(batch), None)

    def clear(self) -> None:
        """Nothing that has come so far is asked for any more."""
        self._of.clear()
