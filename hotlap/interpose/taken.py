"""What training has taken from its loader, unit by unit: the FeedState that a timer asks."""

from __future__ import annotations

import math
import weakref
from typing import Any

from hotlap.interpose.unit import Unit
from hotlap.queue_depth import ready_batches


class Taken:
    """See hotlap.feed.FeedState; of the units that are done.

    Attributes:
        restarts: An epoch cannot be begun on purpose here.
        wait_s, wait_before_s, now, n_taken, n_epochs, n_epoch_steps: As FeedState's.
        iterator: Of the pass that trains; not held, since workers.py looks who does.
    """

    restarts = False

    def __init__(self) -> None:
        self.wait_s = self.wait_before_s = 0.0
        self.now = 0.0
        self.n_taken = 0
        self.n_epochs = 0
        self.n_epoch_steps: int | None = None
        self.iterator: weakref.ref[Any] | None = None
        self._n_before = 0

    @property
    def n_in_epoch(self) -> int:
        """Batches taken of the current epoch."""
        return self.n_taken - self._n_before

    def n_ready(self) -> int | None:
        """Batches that the training loader has ready, None if that cannot be told."""
        iterator = self.iterator() if self.iterator is not None else None
        return None if iterator is None else ready_batches(iterator)

    def n_left(self) -> float:
        """Batches that the epoch still has; inf if unknown."""
        return math.inf if self.n_epoch_steps is None else self.n_epoch_steps - self.n_in_epoch

    def restart(self) -> None:
        """Not possible: the script begins its epochs itself."""
        raise NotImplementedError("whoever wants this asks `restarts` first")

    def add(self, unit: Unit, now: float) -> None:
        """A unit is done; its last batch came at `now`, in seconds of training."""
        self.now = now
        if unit.n_passes:
            if self.n_epochs and self.n_in_epoch:
                self.n_epoch_steps = self.n_in_epoch
            self.n_epochs += unit.n_passes
            self._n_before, self.wait_before_s = self.n_taken, self.wait_s
        self.wait_s += unit.wait_s
        self.n_taken += unit.n_batches

    def grew(self, n_epoch_steps: int | None) -> None:
        """The loader was made anew, with another batch size; its epoch has so many batches."""
        self.iterator = None
        self._n_before, self.n_epoch_steps = self.n_taken, n_epoch_steps
