"""When a window has said enough: one rule for a worker's own and for a replayed one.

A window is over when it is precise, or as long as it may be. It is not, whatever it says, while the
loader's queue is on its way: batches that were made before are taken then, and the rate cannot
last. Whether the queue rests is known in two ways:

- at once, where it is plainly full or plainly empty. Where a worker is idle when a block ends, all
  that it was asked for is made, so it keeps up: one that is slower by any share never is idle,
  since a further batch is asked for whenever one is taken. And where each block waits, what is
  taken is what is made.
- after some steps, where it lost hardly any batches in them. Over a few it goes up and down by
  chance.

No torch here: the tuner asks the same of recorded blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hotlap.block import Block
from hotlap.job import Window
from hotlap.measurement import FEW_STEPS, JITTER, LOADER_BOUND, in_a_row, steady_rate, used_up_of

MIN_BLOCKS = 3
"""Fewer blocks give no interval worth reading (Student's t with one degree of freedom is 12.7)."""

DRAINS = 0.02
"""A queue that loses a larger share of the steps is on its way, however vague a rate may be: what
it hides is no noise that further trials would show."""

SLOW_DRAIN = 0.06
"""One that loses such a share has to be told from one at rest."""


def is_over(
    window: Window,
    blocks: Sequence[Block],
    seconds: float,
    settled: bool,
    at_rest: Callable[[], bool],
) -> bool:
    """Whether a window ends with the last of its `blocks`.

    Args:
        window: How long it may be.
        blocks: Its blocks so far.
        seconds: What it has taken so far, blocks that were thrown away included.
        settled: Whether its warm-up had settled.
        at_rest: Whether the loader's queue rests; asked only where all else is done.
    """
    if len(blocks) < MIN_BLOCKS or seconds < window.min_s:
        return False
    if seconds >= window.max_s:
        return seconds >= window.waits_s or at_rest()
    return settled and steady_rate(blocks).precision <= window.precision and at_rest()


def rests(
    blocks: Sequence[Block],
    before: Block | None,
    *,
    n_workers: int,
    n_prefetched: int,
    precision: float,
) -> bool:
    """Whether the loader's queue runs low so little that a longer window would say the same.

    Args:
        blocks: Of a window, between epoch borders.
        before: The warm-up's last block.
        n_workers: Loader workers.
        n_prefetched: Batches that the loader's full queue holds.
        precision: Of the window: what a queue at rest may lose of the steps, if that is less than
            `DRAINS`.
    """
    looks = [block.n_ready for block in blocks if block.n_ready is not None]
    if not looks:
        return True
    used_up, n_steps = used_up_of(blocks, n_workers)
    if used_up > min(DRAINS, precision) * n_steps:
        return False
    if n_steps >= max(FEW_STEPS * n_workers, JITTER / SLOW_DRAIN):
        return True
    return rests_plainly(blocks, before, n_workers=n_workers, n_prefetched=n_prefetched)


def rests_plainly(
    blocks: Sequence[Block], before: Block | None, *, n_workers: int, n_prefetched: int
) -> bool:
    """Whether the queue is plainly full or plainly empty, however few steps there are.

    The arguments are those of `rests`.
    """
    looks = [block.n_ready for block in blocks if block.n_ready is not None]
    if not looks:
        return False
    return _is_full(looks, n_workers, n_prefetched) or _is_empty(blocks, before, looks, n_workers)


def _is_full(looks: Sequence[int], n_workers: int, n_prefetched: int) -> bool:
    """Whether a worker was idle at the last look, and not only there: a step may have stalled.

    On a device a further batch is asked for before the look, and longer before it than a step takes
    (hotlap/block_timer.py), so a worker that keeps up has made that one, too.
    """
    full = [ready > n_prefetched - n_workers for ready in looks]
    return full[-1] and 2 * sum(full) > len(full)


def _is_empty(
    blocks: Sequence[Block], before: Block | None, looks: Sequence[int], n_workers: int
) -> bool:
    """Whether each block waited for batches, and what was ready at first was ready at last.

    Workers deliver in bursts, so an empty queue holds up to one batch for each; over a few steps
    even these few would be seen in the rate.
    """
    if any(block.data_wait_s <= LOADER_BOUND * block.seconds for block in blocks):
        return False
    if before is not None and before.n_ready is not None and in_a_row(before, blocks[0]):
        looks = [before.n_ready, *looks]
    return max(looks) <= n_workers and looks[0] <= looks[-1]
