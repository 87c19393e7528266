"""Sides of a trial: training as it is, its loader alone, or its model alone.

Which of the two binds is told by measuring each without the other, by the same window:

- "loader": the trial's own loader is driven and nothing is computed. A batch is fetched into the
  process and let go; it is not moved to the device.
- "compute": the model trains on batches kept in memory, and no worker process lives meanwhile. They
  come out of the trial's own loader, so they lie where training finds them: in pinned memory with
  `pin_memory`, in ordinary host memory without it. Each step moves its batch to the device, as
  training does.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from hotlap.errors import NoBatch
from hotlap.feed import Clock
from hotlap.kept import Kept

MAX_HELD = 8
"""So many batches are looked at. Where their shapes differ the step's time does, and one batch
would not stand for all."""

MAX_HELD_BYTES = 1 << 30
"""No further batch is kept beyond that."""

MAX_DRAWING_S = 20.0
"""No further batch is waited for after so many seconds."""


class Held:
    """Stands for a loader: the same few batches by turns, without end.

    Args:
        batches: At least one.
    """

    def __init__(self, batches: list[Kept]) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[Any]:
        # A loss may take a dict apart (`batch.pop("labels")`), or write to a tensor.
        for batch in itertools.cycle(self.batches):
            yield batch.again()


def hold(loader: Iterable[Any], clock: Clock = time.monotonic) -> Held:
    """The first batches of `loader`: one if their shapes are all alike, else up to `MAX_HELD`.

    One of each shape is kept in memory, and comes as often as the shape did: a rare shape is rare.

    Raises:
        InvalidTrial: The loader gives no batch at all.
    """
    start = clock()
    kept: dict[tuple[Any, ...], Any] = {}
    drawn: list[tuple[Any, ...]] = []
    for batch in itertools.islice(loader, MAX_HELD):
        drawn.append(shapes(batch))
        kept.setdefault(drawn[-1], batch)
        n_bytes = sum(size_bytes(batch) for batch in kept.values())
        if n_bytes > MAX_HELD_BYTES or clock() - start > MAX_DRAWING_S:
            break
    if not drawn:
        raise NoBatch
    held = {shape: Kept(batch) for shape, batch in kept.items()}
    return Held(list(held.values()) if len(held) == 1 else [held[shape] for shape in drawn])


def compute_nothing(batch: Any) -> None:
    """The step of a trial that has its loader only."""


def shapes(batch: Any) -> tuple[Any, ...]:
    """The shapes of all tensors in `batch`, in order."""
    return tuple(tuple(tensor.shape) for tensor in _tensors(batch))


def size_bytes(batch: Any) -> int:
    """Memory of all tensors in `batch`."""
    return sum(tensor.numel() * tensor.element_size() for tensor in _tensors(batch))


def _tensors(batch: Any) -> Iterator[torch.Tensor]:
    if isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            yield from _tensors(value)
    elif callable(getattr(batch, "values", None)):
        yield from _tensors(list(batch.values()))
