"""FirstQueue: the batches that a loader made ahead while the first step was slow.

A loader that is slower than the model is hidden by them for as long as they last: at 1.5 times too
slow a full queue of 32 is taken for 96 steps. Where steps are short a warm-up sees the end of that;
where they take seconds, no window is long enough. So the queue is not waited for but emptied: what
comes out of it afterwards was made meanwhile, and either the steps wait for it, or the loader keeps
up. A script takes its batches itself, and may count them: nothing can be emptied there.
"""

from __future__ import annotations

import statistics
from collections.abc import Generator, Sequence

from hotlap.block import Block
from hotlap.block_timer import Trained
from hotlap.feed import FeedState

READY = 0.1
"""A batch that comes in less than this share of a step had been made before."""

N_SLOW = 3
"""In the first so many blocks, two of them single steps, are the steps that compile or set up."""

UNSEEN = 0.03
"""So many batches for each step since then hide nothing that matters: a loader that is slower by
more has used them up, and one that is slower by less is reported too fast by no more than that."""


class FirstQueue:
    """What is left of it, as far as that can be told.

    Args:
        feed: Where the batches come from.
        n_workers: Loader workers, at least 1.
        n_prefetched: Batches that the loader's full queue holds.
    """

    def __init__(self, feed: FeedState, n_workers: int, n_prefetched: int) -> None:
        self._feed = feed
        self._n_workers = n_workers
        self._n_prefetched = n_prefetched

    def may_serve(self, blocks: Sequence[Block]) -> bool:
        """Whether steps after these blocks, all since the start, may be served from it.

        Not where it is empty, nor where it is as full as at first (see window_end.py).
        """
        if not self._feed.restarts or self._is_gone(blocks):
            return False
        last = blocks[-1]
        if last.waits:
            return (last.n_ready or 0) > self._n_workers
        return last.n_ready is None or last.n_ready <= self._n_prefetched - self._n_workers

    def _is_gone(self, blocks: Sequence[Block]) -> bool:
        """Whether all that comes now is made at the loader's own pace, by what is sure.

        A later epoch begins with an empty queue, and without workers there is none. While a step
        took no longer than all others, nothing was made ahead.

        Args:
            blocks: All since the trial's start.
        """
        if not self._n_prefetched or self._feed.n_epochs > 1:
            return True
        if len(blocks) < 2:
            return False
        step_s = statistics.median(block.computing_s for block in blocks[1:])
        slow_s = sum(max(0.0, b.computing_s - step_s) * b.steps for b in blocks[:N_SLOW])
        n_steps = sum(block.steps for block in blocks[1:])
        return min(slow_s, self._n_prefetched * step_s) <= UNSEEN * n_steps * step_s

    def left(self, n_next: int, step_s: float) -> Generator[None, Trained, bool]:
        """Leave it behind. A `yield` asks for one more step.

        Args:
            n_next: Steps of a block: the epoch has to have room for one afterwards, or to end.
            step_s: A step's seconds.

        Returns:
            Whether the epoch has ended with it.
        """
        feed = self._feed
        ready, n_left = feed.n_ready(), feed.n_left()
        if ready is not None and 0 <= n_left - ready <= n_next:
            feed.drop(int(n_left))
            return True
        # Where a queue has no size its end is the first batch that has to be waited for.
        feed.drop(*((self._n_prefetched, READY * step_s) if ready is None else (ready,)))
        for _ in range(self._n_workers):  # until each has handed over what it had begun
            yield
        return False
