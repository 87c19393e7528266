"""FirstQueue: the batches that a loader made ahead while the first step was slow.

A loader that is slower than the model is hidden by them for as long as they last: at 1.5 times too
slow a full queue of 32 is taken for 96 steps. Where steps are short a warm-up sees the end of that;
where they take seconds, no window is long enough. So the queue is not waited for but emptied: what
comes out of it afterwards was made meanwhile, and either the steps wait for it, or the loader keeps
up. A script takes its batches itself, and may count them; there the window says whether it knows
its pace (`hotlap/window_end.py`).
"""

from __future__ import annotations

from collections.abc import Generator

from hotlap.block import Block
from hotlap.block_timer import Trained
from hotlap.feed import FeedState

READY = 0.1
"""A batch that comes in less than this share of a step had been made before."""


class FirstQueue:
    """What is left of it, as far as that can be told.

    Args:
        feed: Where the batches come from.
        n_workers: Loader workers, at least 1.
        n_prefetched: Batches that the loader's full queue holds.
        max_s: No longer than that a script trains on to the end of its first epoch.
    """

    def __init__(self, feed: FeedState, n_workers: int, n_prefetched: int, max_s: float) -> None:
        self._feed = feed
        self._n_workers = n_workers
        self._n_prefetched = n_prefetched
        self._max_s = max_s
        self._dropped = False

    @property
    def emptied(self) -> bool:
        """Whether all that comes now was made after it.

        A later epoch begins with an empty queue, and without workers there is none.
        """
        return self._dropped or not self._n_prefetched or self._feed.n_epochs > 1

    def may_serve(self, last: Block) -> bool:
        """Whether batches of it may be what the steps are served from, after the block `last`.

        Not where the queue is empty, nor where it is as full as at first: see window_end.py.
        """
        if self.emptied:
            return False
        if last.waits:
            return (last.n_ready or 0) > self._n_workers
        return last.n_ready is None or last.n_ready <= self._n_prefetched - self._n_workers

    def is_nearly_gone(self, last: Block) -> bool:
        """Whether a script's next block will see the end of it."""
        if self._feed.restarts or last.n_ready is None:
            return False
        return last.n_ready <= self._n_workers and self.may_serve(last)

    def left(self, n_next: int, step_s: float) -> Generator[None, Trained, bool]:
        """Leave it behind, if that is possible. Each `yield` asks for one more step.

        Args:
            n_next: Steps of a block: the epoch has to have room for one afterwards, or to end.
            step_s: A step's seconds.

        Returns:
            Whether the epoch has ended with it.
        """
        feed = self._feed
        ready, n_left = feed.n_ready(), feed.n_left()
        n = self._n_prefetched if ready is None else ready
        ends = n_left - n <= n_next
        if feed.restarts:
            if ends:
                feed.drop(int(n_left))
            else:
                feed.drop(n, READY * step_s if ready is None else None)
                self._dropped = True
                yield  # the wait for what is made next
        elif ends := ends and n_left * step_s <= self._max_s:
            for _ in range(int(n_left)):
                yield
        return ends
