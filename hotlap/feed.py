"""Feed: batches without end out of a loader, with the time spent in it counted.

What a timer wants to know of it is `FeedState`, which a script's own loader has as well
(hotlap/training/taken.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from hotlap.errors import NoBatch
from hotlap.queue_depth import ready_batches

Clock = Callable[[], float]


class Stalls(Protocol):
    """A device that works beside the host, and stands still for some waits (device_stalls.py)."""

    def begin(self) -> None:
        """A batch is waited for from here on."""

    def end(self) -> None:
        """It has come."""

    def seconds(self) -> float:
        """For how long the device has stood still in all waits so far."""


class FeedState(Protocol):
    """Where the batches come from, as far as a timer asks.

    Attributes:
        wait_s: Seconds blocked in the loader since the start, epoch starts included.
        wait_before_s: What it was when the current epoch began.
        now: The clock when the last batch had come.
        n_taken: Batches taken since the start, without those that were thrown away.
        n_epochs: Epochs begun.
        n_epoch_steps: Batches of an epoch, None until it is known.
        restarts: Whether an epoch can be begun on purpose, and batches be thrown away.
        endless: Whether the batches go on where an epoch should end, so that none has a start.
    """

    restarts: bool
    endless: bool
    wait_s: float
    wait_before_s: float
    now: float
    n_taken: int
    n_epochs: int
    n_epoch_steps: int | None

    @property
    def n_in_epoch(self) -> int:
        """Batches taken of the current epoch."""

    def n_ready(self) -> int | None:
        """Batches ready to be taken, None if that cannot be told."""

    def n_left(self) -> float:
        """Batches of the epoch that were not taken yet, ready ones among them; inf if unknown."""

    def stalled_s(self) -> float | None:
        """Seconds of the waits in which the device stood still, None if no device is watched."""

    def restart(self) -> None:
        """Begin a new epoch at the next batch."""

    def drop(self, n: int, at_once_s: float | None = None) -> None:
        """Throw away the next `n` batches of the epoch; none may be left of it then.

        Args:
            n: So many, or what the epoch has.
            at_once_s: No more after one that took longer to come: it was not ready.
        """


class Feed:
    """Batches without end: the loader goes round, and the time blocked in it is counted.

    Args:
        loader: Gives an iterator for each epoch.
        n_epoch_steps: Batches of an epoch, None if unknown.
        clock: Seconds.
        ready: Batches that an iterator has ready, None if that cannot be told.
        stalls: Where a device works beside the host, tells which waits it stood still for.

    Attributes (beside those of FeedState):
        n_taken_at_end: What `n_taken` will be with the epoch's last batch; -1 if unknown.
    """

    restarts = True
    endless = False

    def __init__(
        self,
        loader: Iterable[Any],
        n_epoch_steps: int | None,
        clock: Clock = time.perf_counter,
        ready: Callable[[Iterator[Any]], int | None] = ready_batches,
        stalls: Stalls | None = None,
    ) -> None:
        self._loader = loader
        self._clock = clock
        self._ready = ready
        self._stalls = stalls
        self._iterator: Iterator[Any] = iter(())
        self._n_before = 0  # batches taken before this epoch, less those of it thrown away
        self.now = 0.0
        self.wait_s = self.wait_before_s = 0.0
        self.n_taken = 0
        self.n_taken_at_end = -1
        self.n_epochs = 0
        self.n_epoch_steps = n_epoch_steps

    def next(self) -> Any:
        """The next batch.

        Raises:
            NoBatch: The loader gives no batch, or none any more.
        """
        # Runs at each step, and a step may take half a millisecond: hardly a line too many.
        clock = self._clock
        stalls = self._stalls
        start = clock()
        if stalls is not None:
            stalls.begin()
        try:
            batch = next(self._iterator)
        except StopIteration:
            batch = self._next_epoch()
        self.n_taken += 1
        self.now = now = clock()
        self.wait_s += now - start
        if stalls is not None:
            stalls.end()
        return batch

    @property
    def n_in_epoch(self) -> int:
        """Batches taken of the current epoch, or thrown away."""
        return self.n_taken - self._n_before

    def n_ready(self) -> int | None:
        """Batches ready to be taken, None if that cannot be told."""
        return self._ready(self._iterator)

    def stalled_s(self) -> float | None:
        """Seconds of the waits in which the device stood still, None if no device is watched."""
        return None if self._stalls is None else self._stalls.seconds()

    def n_left(self) -> float:
        """Batches of the epoch that were not taken yet, ready ones among them; inf if unknown."""
        return math.inf if self.n_epoch_steps is None else self.n_epoch_steps - self.n_in_epoch

    def restart(self) -> None:
        """Begin a new epoch at the next batch, whatever is left of this one.

        Ending the workers takes its time as it does at an epoch's own end, and counts as waiting.
        """
        start = self._clock()
        self._iterator = iter(())
        self._n_before = self.n_taken
        self.wait_s += self._clock() - start

    def drop(self, n: int, at_once_s: float | None = None) -> None:
        """Throw away the next `n` batches, as in FeedState; they are the epoch's all the same."""
        for _ in range(n):
            start = self._clock()
            try:
                next(self._iterator)
            except StopIteration:
                return  # the next batch begins an epoch
            self._n_before -= 1
            self.n_taken_at_end -= self.n_taken_at_end >= 0
            if at_once_s is not None and self._clock() - start > at_once_s:
                return

    def _next_epoch(self) -> Any:
        if self.n_epochs and self.n_in_epoch:
            self.n_epoch_steps = self.n_in_epoch
        self._iterator = iter(self._loader)
        self.n_epochs += 1
        self._n_before, self.wait_before_s = self.n_taken, self.wait_s
        if self.n_epoch_steps is not None:
            self.n_taken_at_end = self.n_taken + self.n_epoch_steps
        try:
            return next(self._iterator)
        except StopIteration:
            raise NoBatch(self.n_epochs - 1) from None
