"""The last pass over each DataLoader: since when it is waited for, and the samples it gave.

A script may make its iterator long before it takes a batch, above the building of its model say.
So the first batch is waited for since it was asked for, and the making of the iterator, which
starts the workers, is added to that.
"""

from __future__ import annotations

from typing import Any

from hotlap.interpose.seen import LoaderSeen
from hotlap.training.pass_size import PassSize
from hotlap.training.unit import Unit


class Pass:
    """One pass over a loader.

    Attributes:
        asked_at: When its batch was asked for; of the first one, earlier by what its iterator took
            to be made: the start of workers is a wait for it.
        n_given: Batches it gave.
        trained: Whether an optimizer stepped while it gave the last batch.
    """

    def __init__(self, now: float) -> None:
        self.asked_at = now
        self.n_given = 0
        self.trained = False
        self._made_s: float | None = None
        self._size: PassSize | None = None

    def made(self, now: float) -> None:
        """Its iterator, which was begun with the pass, is made."""
        self._made_s = now - self.asked_at

    def asks(self, now: float) -> None:
        """A batch is asked for; if nobody has told that the iterator is made, since the begin."""
        if self.n_given:
            self.asked_at = now
        elif self._made_s is not None:
            self.asked_at = now - self._made_s

    def gives(self, loader: Any, batch: Any, now: float, waits: bool) -> Unit:
        """A batch has come; returns what a unit of it alone has.

        Without `waits` nobody is known to wait for it, but for a pass's first batch.
        """
        if self._size is None:
            self._size = PassSize(loader)
        i, self.n_given = self.n_given, self.n_given + 1
        wait_s = now - self.asked_at if waits or i == 0 else 0.0
        return Unit(wait_s, now, 1, self._size.of(i, batch), int(i == 0), batch)


class Passes:
    """The last pass of each loader; a loader is known by its LoaderSeen, which lives on."""

    def __init__(self) -> None:
        self._of: dict[int, Pass] = {}

    def begins(self, seen: LoaderSeen, now: float) -> None:
        """A pass begins."""
        self._of[id(seen)] = Pass(now)

    def of(self, seen: LoaderSeen, now: float) -> Pass:
        """Its last pass; one that began unseen, before anybody listened, begins now."""
        return self._of.setdefault(id(seen), Pass(now))
