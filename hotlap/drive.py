"""Trains by a window's orders: the loop between what asks for steps and what does them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from hotlap.block import Block
from hotlap.block_timer import Trained
from hotlap.feed import Feed


def drive(
    timing: Generator[None, Trained, list[Block]],
    step: Callable[[Any], Any],
    feed: Feed,
    count: Callable[[Any], int],
    batch_size: int | None = None,
) -> list[Block]:
    """Train as many steps as `timing` asks for. Returns the window's blocks.

    Args:
        timing: What `WindowTimer.run` returned.
        step: One optimizer update on a batch; returns the loss, not synchronized, or None.
        feed: Where the batches come from.
        count: Samples of a batch.
        batch_size: Samples of each batch but an epoch's last one, None if not certain.
    """
    take, send = feed.next, timing.send
    next(timing)
    while True:
        batch = take()
        if batch_size is None or feed.n_taken == feed.n_taken_at_end:
            trained = count(batch), step(batch)
        else:
            trained = batch_size, step(batch)
        try:
            send(trained)
        except StopIteration as end:
            blocks: list[Block] = end.value
            return blocks
