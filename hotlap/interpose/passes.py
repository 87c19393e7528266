"""The last pass over each DataLoader: since when it is waited for, and the samples it gave."""

from __future__ import annotations

from typing import Any

from hotlap.interpose.pass_size import PassSize
from hotlap.interpose.seen import LoaderSeen


class Pass:
    """One pass over a loader.

    Attributes:
        asked_at: When its batch was asked for; of the first one, when the pass began: the start
            of workers is a wait for it.
        n_given: Batches it gave.
    """

    def __init__(self, now: float) -> None:
        self.asked_at = now
        self.n_given = 0
        self._begins_late = False
        self._size: PassSize | None = None

    def asks(self, now: float) -> None:
        """A batch is asked for."""
        if self.n_given or self._begins_late:
            self.asked_at = now

    def gives(self, loader: Any, batch: Any) -> int:
        """A batch has come; returns its samples."""
        if self._size is None:
            self._size = PassSize(loader)
        self.n_given += 1
        return self._size.of(self.n_given - 1, batch)

    def waits(self) -> None:
        """Something else is done first: its iterator was made before an evaluation."""
        self._begins_late = True


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

    def wait(self) -> None:
        """Something else is done before those that have given nothing yet give a batch."""
        for one in self._of.values():
            if not one.n_given:
                one.waits()
