"""Seeds an epoch, so that its order is the same whoever loads it, and whenever that begins.

A later session of a full run makes a new loader, and settings that are compared have loaders of
their own. So nothing of the order may come from what the epochs before have drawn, nor from whether
the loader keeps its iterator and its workers from epoch to epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from hotlap.loading import draw_as_new
from hotlap.same_samples import seed_all


def begin_epoch(loader: Any, seed: int) -> None:
    """Let all that the loader's next pass draws come from `seed`.

    A sampler that counts its own passes, or holds a generator that is none of torch's, stays as it
    is: nobody can tell it which epoch it is. One that decides as it is asked for an iterator has
    another order without workers than with some, for with these torch asks it twice.
    """
    seed_all(seed)
    for generator in _own_generators(loader):
        generator.manual_seed(seed % 2**63)
    if getattr(loader, "_iterator", None) is not None:  # DataLoader's own, if its workers persist
        draw_as_new(loader)


def _own_generators(loader: Any) -> Iterator[torch.Generator]:
    """Generators that the workload has given to the loader or to what orders its samples."""
    batches = getattr(loader, "batch_sampler", None)
    of_batches = getattr(batches, "sampler", None)
    for holder in (loader, getattr(loader, "sampler", None), batches, of_batches):
        generator = getattr(holder, "generator", None)
        if isinstance(generator, torch.Generator):
            yield generator
