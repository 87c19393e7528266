"""What training has taken from its loader, unit by unit: the FeedState that a timer asks."""

from __future__ import annotations

import math
import weakref
from typing import Any

from torch.utils.data import IterableDataset

from hotlap.feed import Stalls
from hotlap.interpose.holders import ALONE, n_holders
from hotlap.queue_depth import ready_batches
from hotlap.training.pass_size import length
from hotlap.training.unit import Unit


class Taken:
    """See hotlap.feed.FeedState; of the units that are done.

    Attributes:
        restarts: An epoch cannot be begun on purpose here, nor a batch be thrown away.
        endless: Whether the pass goes on where an epoch should end.
        stalls: Where a device works beside the host, told of each wait for a batch that trains.
        wait_s, wait_before_s, now, n_taken, n_epochs, n_epoch_steps: As FeedState's.
    """

    restarts = False

    def __init__(self) -> None:
        self.wait_s = self.wait_before_s = 0.0
        self.now = 0.0
        self.n_taken = 0
        self.n_epochs = 0
        self.n_epoch_steps: int | None = None
        self.endless = False
        self.stalls: Stalls | None = None
        self._n_before = 0
        # Not held: hotlap/interpose/workers.py looks who does, and the end of a loader or a pass
        # would not show.
        self._loader: weakref.ref[Any] | None = None
        self._iterator: weakref.ref[Any] | None = None

    @property
    def n_in_epoch(self) -> int:
        """Batches taken of the current epoch."""
        return self.n_taken - self._n_before

    def n_ready(self) -> int | None:
        """Batches that the training loader has ready, None if that cannot be told."""
        iterator = self._iterator() if self._iterator is not None else None
        return None if iterator is None else ready_batches(iterator)

    def stalled_s(self) -> float | None:
        """Seconds of the waits in which the device stood still, None if no device is watched."""
        return None if self.stalls is None else self.stalls.seconds()

    def n_left(self) -> float:
        """Batches that the epoch still has; inf if unknown."""
        if self.n_epoch_steps is None or self.endless:
            return math.inf
        return self.n_epoch_steps - self.n_in_epoch

    def restart(self) -> None:
        """Not possible: the script begins its epochs itself."""
        raise NotImplementedError("whoever wants this asks `restarts` first")

    def drop(self, n: int, at_once_s: float | None = None) -> None:
        """Not possible: the script takes its batches itself."""
        raise NotImplementedError("whoever wants this asks `restarts` first")

    # What Units tells

    def begin(self, loader: Any) -> None:
        """This is the loader that trains."""
        self.n_epoch_steps = length(loader)
        self.endless = self.n_epoch_steps is not None and _never_ends(loader)

    def comes_from(self, loader: Any, iterator: weakref.ref[Any] | None) -> None:
        """The batches come from there; None where it cannot be told how many are ready."""
        self._loader = None if iterator is None else weakref.ref(loader)
        self._iterator = iterator

    def may_go_on(self) -> bool:
        """Whether the script still has the iterator that gave the last batch.

        Where workers are kept, its loader has it too, for the next pass.
        """
        iterator = self._iterator() if self._iterator is not None else None
        loader = self._loader() if self._loader is not None else None
        if iterator is None or loader is None or vars(loader).get("_iterator") is not iterator:
            return iterator is not None
        del iterator
        return n_holders(loader) > ALONE

    def add(self, unit: Unit, now: float) -> None:
        """A unit is done; its last batch came at `now`, in seconds of training."""
        self.now = now
        if unit.n_passes:
            if self.n_epochs and self.n_in_epoch:
                self.n_epoch_steps, self.endless = self.n_in_epoch, False
            self.n_epochs += unit.n_passes
            self._n_before, self.wait_before_s = self.n_taken, self.wait_s
        self.wait_s += unit.wait_s
        self.n_taken += unit.n_batches
        if self.n_epoch_steps is not None and self.n_in_epoch > self.n_epoch_steps:
            self.endless = True

    def grew(self, loader: Any) -> None:
        """The loader was made anew, with another batch size."""
        self.comes_from(loader, None)
        self._n_before = self.n_taken
        self.begin(loader)

    def rests(self) -> None:
        """No batch is asked for any more."""
        self._loader = self._iterator = None
        self.n_epoch_steps, self.endless = None, True

    def returns(self) -> None:
        """Batches are asked for again; how many an epoch has is not known now."""
        self._n_before, self.endless = self.n_taken, False


def _never_ends(loader: Any) -> bool:
    """Whether the loader has a length, and its order has none.

    So it is where workers are kept by an order that begins again and again, and the loader's own
    `__iter__` takes as many batches of it as an epoch has (YOLO's InfiniteDataLoader, timm's
    MultiEpochsDataLoader). A stream's order never has a length.
    """
    order = getattr(loader, "batch_sampler", None)
    if order is None or isinstance(getattr(loader, "dataset", None), IterableDataset):
        return False
    return length(order) is None
