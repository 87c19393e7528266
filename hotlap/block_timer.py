"""BlockTimer: times one block of steps between two synchronizations of the device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hotlap.errors import Diverged, InvalidTrial
from hotlap.feed import Clock, Feed
from hotlap.measurement import Block

OVERDUE = 4.0
"""A block is ended early once it takes so many times `block_s`: on a machine with neighbours the
same step may suddenly take a hundred times longer."""


class BlockTimer:
    """Times blocks of steps; all that costs time but is no training happens between them.

    Args:
        step: One optimizer update on a batch; returns the loss, not synchronized, or None.
        feed: Where the batches come from.
        count: Samples of a batch.
        block_s: About how long a block is.
        unit: A block is a whole multiple of so many steps.
        n_prefetched: Batches that the loader's full queue holds.
        synchronize: Waits for the device.
        other_cpu_share: CPU used by others since its last call, 0..1.
        usage: What the trial holds now, by the names of Block's fields.
        clock: Seconds.
    """

    def __init__(
        self,
        step: Callable[[Any], Any],
        feed: Feed,
        count: Callable[[Any], int],
        block_s: float,
        unit: int,
        n_prefetched: int,
        synchronize: Callable[[], None],
        other_cpu_share: Callable[[], float],
        usage: Callable[[], dict[str, int | None]],
        clock: Clock,
    ) -> None:
        self._step = step
        self._feed = feed
        self._count = count
        self._block_s = block_s
        self._unit = unit
        self._n_prefetched = n_prefetched
        self._synchronize = synchronize
        self._other_cpu_share = other_cpu_share
        self._usage = usage
        self._clock = clock

    def __call__(self, n_steps: int, whole_epochs: bool = False) -> Block:
        """Time `n_steps`; fewer if they take too long, but whole units or epochs even then.

        Raises:
            Diverged: The last loss is not finite.
            InvalidTrial: The loader gives no batch, or its batches have no samples.
        """
        feed, step, count = self._feed, self._step, self._count
        take = feed.next
        n_samples = 0
        loss = None
        self._synchronize()
        wait = feed.wait_s
        start = self._clock()
        overdue = start + OVERDUE * self._block_s
        for done in range(1, n_steps + 1):
            batch = take()
            loss = step(batch)
            n_samples += count(batch)
            if feed.now > overdue and self._may_end(done, whole_epochs):
                n_steps = done
                break
        self._synchronize()
        seconds = self._clock() - start
        n_samples = int(n_samples)  # a user's count may be a tensor
        if n_samples < 1:
            raise InvalidTrial(
                f"{n_steps} steps had {n_samples} samples by Workload.n_samples; it has to return "
                "the number of samples in a batch"
            )
        value = None if loss is None else float(loss)
        if value is not None and not math.isfinite(value):
            raise Diverged(f"the loss became {value} with these settings")
        return Block(
            n_steps,
            n_samples,
            seconds,
            feed.wait_s - wait,
            self._other_cpu_share(),
            value,
            # Towards an epoch's end the queue gets shorter because there is no more to ask for.
            feed.n_ready() if feed.n_left() >= self._n_prefetched else None,
            at_step=feed.n_taken,
            **self._usage(),
        )

    def _may_end(self, n_steps: int, whole_epochs: bool) -> bool:
        if whole_epochs:
            return self._feed.n_in_epoch == self._feed.n_epoch_steps
        return n_steps % self._unit == 0
