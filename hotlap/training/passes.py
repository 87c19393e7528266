"""The last pass over each DataLoader: since when it is waited for, and the samples it gave.

A script may make its iterator long before it takes a batch, above the building of its model say.
So the first batch is waited for since it was asked for, and the making of the iterator, which
starts the workers, is added to that.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

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
    """The last pass of each loader; a loader is known by its LoaderSeen, which lives on.

    Within a pass there may be another one over the same loader, an evaluation say. Their iterators
    tell them apart, which are known when they give a batch.
    """

    def __init__(self) -> None:
        self._of: dict[int, Pass] = {}
        self._by: WeakKeyDictionary[Any, Pass] = WeakKeyDictionary()

    def begins(self, seen: LoaderSeen, now: float) -> None:
        """A pass begins."""
        self._of[id(seen)] = Pass(now)

    def is_over(self, before: LoaderSeen, seen: LoaderSeen) -> None:
        """The last pass that began over `before` is one over `seen`."""
        if (one := self._of.pop(id(before), None)) is not None:
            self._of[id(seen)] = one

    def gives(self, seen: LoaderSeen, iterator: Any, now: float) -> Pass:
        """The pass whose iterator gives a batch, which is the loader's last one from now on."""
        last = self.of(seen, now)
        if iterator is None:  # a batch that hotlap has kept
            return last
        if last.n_given == 0:  # its first batch, be it of workers that are kept
            self._by[iterator] = last
        if (one := self._by.get(iterator)) is None:
            one = self._by[iterator] = last
        one.asked_at = last.asked_at
        self._of[id(seen)] = one
        return one

    def of(self, seen: LoaderSeen, now: float) -> Pass:
        """Its last pass; one that began unseen, before anybody listened, begins now."""
        if (one := self._of.get(id(seen))) is None:
            one = self._of[id(seen)] = Pass(now)
        return one
