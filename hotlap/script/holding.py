"""Holding: the script's model alone, on batches that it has trained on before.

Its loader is asked for nothing any more: whenever the script wants a batch it gets one of a few
that are kept in memory. Its loader's workers, if there are some, fill their queue and rest.

A pass over held batches has no end, and an evaluation on the training loader, or on one made at the
same line, would wait for it for ever. So who goes through it beside the pass that trains gets the
loader's own batches, and so does who asks for more of them without a step than training ever did.
Several iterators may train together; what they ask for between two steps may become more.
"""

from __future__ import annotations

import weakref
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import torch

from hotlap.kept import Kept
from hotlap.script.ahead import Ahead
from hotlap.sides import shapes
from hotlap.training import Units

MOST = 4
"""So many batches are looked at; where their shapes differ, so many come by turns."""

MOST_AHEAD = 8
"""So many batches may be fetched before the first of them is trained on."""


class Holding:
    """A Listener that hands kept batches to the script, and everything on to the units.

    Args:
        units: Tells training from all else.

    Attributes:
        loader: The one that trains.
        n_held: Batches that come by turns; 0 before there are any.
    """

    def __init__(self, units: Units) -> None:
        self._units = units
        self.trains, self.forward, self.backward = units.trains, units.forward, units.backward
        self.loader: Any = None
        self._given = Ahead[Kept](MOST_AHEAD)
        self._found: list[Kept] = []
        self._kept: list[Kept] = []
        self._next = 0
        self._n_asked = self._most_asked = 0  # since the last step; and before one
        self._asks: weakref.ref[Any] | None = None  # the iterator that was asked last
        self._asked: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # how often since the step
        self._train: WeakSet[Any] = WeakSet()  # those whose batches are stepped on

    def __getattr__(self, name: str) -> Any:
        return getattr(self._units, name)

    @property
    def n_held(self) -> int:
        """Batches that come by turns; 0 before there are any."""
        return len(self._kept)

    def keep(self, batch: Any) -> bool:
        """Keep one more; returns whether there are enough, which are held from now on."""
        kept = self._given.take(batch)
        self._found.append(Kept(batch) if kept is None else kept)
        if len(self._found) == MOST:
            alike = len({shapes(one.again()) for one in self._found}) == 1
            self._kept = self._found[:1] if alike else self._found
            self._given.clear()
        return self.n_held > 0

    def gives(self, seen: Any, loader: Any, iterator: Any, batch: Any) -> None:
        """A batch has come, and the script has not written to it or taken it apart yet."""
        if not self._kept and torch.is_grad_enabled():
            self._given.put(batch, Kept(batch))
        self._units.gives(seen, loader, iterator, batch)

    def asks(self, seen: Any, iterator: Any) -> Any:
        """A batch is asked for."""
        self._units.asks(seen, iterator)
        self._asks = None
        if self.loader is not None and not self._units.trains(seen):
            return None
        self._asks = weakref.ref(iterator)
        self._asked[iterator] = self._asked.get(iterator, 0) + 1
        if self._kept and self._is_beside(iterator):
            return None
        self._n_asked += 1
        if not self._kept or self._n_asked > self._most_asked:
            return None
        batch = self._kept[self._next % len(self._kept)].again()
        self._next += 1
        self._units.gives(seen, self.loader, None, batch)
        return batch

    def ends(self, seen: Any) -> None:
        """A pass has no batch left; if a step follows, it was not for what that gave."""
        if self._asks is not None and (iterator := self._asks()) is not None:
            self._asked.pop(iterator, None)
            self._train.discard(iterator)
        self._asks = None
        self._units.ends(seen)

    def stepped(self, optimizer: Any) -> None:
        """An optimizer stepped: what was asked for since the last step was for training."""
        self._follow()
        self._units.stepped(optimizer)

    def _follow(self) -> None:
        """What trains, and how much it asks for; not what an evaluation asks for beside it."""
        asked = dict(self._asked)
        if not self._kept or self._train.isdisjoint(asked):
            self._train.update(asked)
        n_asked = sum(n for one, n in asked.items() if one in self._train)
        self._most_asked = max(self._most_asked, n_asked if self._kept else self._n_asked)
        self._asked.clear()
        self._n_asked = 0

    def _is_beside(self, iterator: Any) -> bool:
        """Whether the passes that train are others, and one of them is still open."""
        return bool(self._train) and iterator not in self._train
