"""What an epoch's start costs: workers that start or wake up, and a queue that is empty again.

Measured at a border made on purpose after the window, because the first epoch tells too little: its
workers are started for good if they are persistent, and while its first step compiles they fetch
ahead, so that the waiting which every later epoch begins with does not show.

What a device still has to do meanwhile is not taken off: a step, seldom more.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from hotlap.block_timer import Trained
from hotlap.feed import FeedState

ROUNDS = 2
"""So many batches of each worker are waited for; from then on they come as they always do."""

PATIENCE = 2.0
"""A queue that is not full after so many times the steps' time that it holds never will be."""

POLL_SHARE = 0.1
"""Of a step's time between two looks at the queue."""


def epoch_start_s(
    feed: FeedState,
    *,
    n_workers: int,
    n_prefetched: int,
    steady_wait_s: float,
    step_s: float,
    max_s: float,
    pause: Callable[[float], None],
) -> Generator[None, Trained, float]:
    """Seconds that an epoch's start takes longer than as many steady steps.

    Each `yield` asks for one more step, as in hotlap/block_timer.py.

    Args:
        feed: Where the batches come from; its epochs can be begun on purpose.
        n_workers: Loader workers, at least 1 here: without workers the process itself is one.
        n_prefetched: Batches that the loader's full queue holds.
        steady_wait_s: Waiting for data in a steady step.
        step_s: A steady step.
        max_s: No longer than that is waited for the queue.
        pause: Sleeps for so many seconds.
    """
    _let_queue_fill(feed, n_prefetched, step_s, max_s, pause)
    before = feed.wait_s
    feed.restart()
    n_steps = min(ROUNDS * n_workers, feed.n_epoch_steps or ROUNDS * n_workers)
    for _ in range(n_steps):
        yield
    return max(0.0, feed.wait_s - before - n_steps * steady_wait_s)


def _let_queue_fill(
    feed: FeedState, n_full: int, step_s: float, max_s: float, pause: Callable[[float], None]
) -> None:
    # Workers that still owe batches would make them first; at an epoch's own end they owe none.
    left = min(PATIENCE * n_full * step_s, max_s)
    while left > 0 and (ready := feed.n_ready()) is not None and ready < n_full:
        pause(POLL_SHARE * step_s)
        left -= POLL_SHARE * step_s
