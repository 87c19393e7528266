"""Holding: the script's model alone, on batches that it has trained on before.

Its loader is asked for nothing any more: whenever the script wants a batch it gets one of a few
that are kept in memory. Its loader's workers, if there are some, fill their queue and rest.
"""

from __future__ import annotations

import copy
from typing import Any

from hotlap.interpose.units import Units
from hotlap.sides import shapes

MOST = 4
"""So many batches are looked at; where their shapes differ, so many come by turns."""


class Holding:
    """A Listener that hands kept batches to the script, and everything on to the units.

    Args:
        units: Tells training from all else.

    Attributes:
        loader: The one that trains.

    Attributes:
        n_held: Batches that come by turns; 0 before there are any.
    """

    def __init__(self, units: Units) -> None:
        self._units = units
        self.loader: Any = None
        self._kept: list[Any] = []
        self._next = 0
        self.n_held = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._units, name)

    def keep(self, batch: Any) -> bool:
        """Keep one more; returns whether there are enough, which are held from now on."""
        self._kept.append(batch)
        if len(self._kept) == MOST:
            if len({shapes(one) for one in self._kept}) == 1:
                del self._kept[1:]
            self.n_held = len(self._kept)
        return self.n_held > 0

    def asks(self, seen: Any) -> Any:
        """A batch is asked for."""
        self._units.asks(seen)
        if not self.n_held or not self._units.trains(seen):
            return None
        batch = self._kept[self._next % self.n_held]
        self._next += 1
        # A script may take a dict apart (`batch.pop("labels")`), and the batch comes again.
        batch = copy.copy(batch) if type(batch) in (dict, list) else batch
        self._units.gives(seen, self.loader, None, batch)
        return batch
