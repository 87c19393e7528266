"""Holding: the script's model alone, on batches that it has trained on before.

Its loader is asked for nothing any more: whenever the script wants a batch it gets one of a few
that are kept in memory. Its loader's workers, if there are some, fill their queue and rest.
"""

from __future__ import annotations

from typing import Any

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
        self.loader: Any = None
        self._given = Ahead[Kept](MOST_AHEAD)
        self._found: list[Kept] = []
        self._kept: list[Kept] = []
        self._next = 0

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

    def asks(self, seen: Any) -> Any:
        """A batch is asked for."""
        self._units.asks(seen)
        if not self._kept or not self._units.trains(seen):
            return None
        batch = self._kept[self._next % len(self._kept)].again()
        self._next += 1
        self._units.gives(seen, self.loader, None, batch)
        return batch
