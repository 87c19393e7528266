"""What is done with a batch in hand that is not trained on yet: an evaluation at the loop's top."""

from __future__ import annotations

from hotlap.interpose.seen import LoaderSeen


class Aside:
    """Since when another loader is used, and whether that is an evaluation.

    It is one if a root is called without gradients, or if a pass begins and ends in which nothing
    is trained.
    """

    def __init__(self) -> None:
        self._at: float | None = None
        self._sure = False
        self._began: set[int] = set()

    def begins(self, seen: LoaderSeen, now: float) -> None:
        """A pass over another loader begins."""
        self.asks(now)
        self._began.add(id(seen))

    def asks(self, now: float) -> None:
        """Another loader is asked for a batch."""
        if self._at is None:
            self._at = now

    def looks(self) -> None:
        """A root is called without gradients."""
        self._sure |= self._at is not None

    def ends(self, seen: LoaderSeen) -> None:
        """A pass over another loader ends."""
        self._sure |= id(seen) in self._began

    @property
    def sure(self) -> bool:
        """Whether it is an evaluation."""
        return self._sure

    def over(self, now: float) -> float:
        """Training goes on. Returns the seconds that were none of it."""
        seconds = now - self._at if self._sure and self._at is not None else 0.0
        self._at, self._sure = None, False
        self._began.clear()
        return seconds
