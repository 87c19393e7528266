"""Whether a script's loader has to give the same batches, whatever processes draw them.

It has to where a sample is a function of its index alone and the order is one of torch's own. Then
a winner whose batches are others loads them wrongly: its workers share an open file, say.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, IterableDataset

from hotlap.fingerprint import fingerprint
from hotlap.interpose.drawing import asked_in_a_fork
from hotlap.interpose.state import State, changed, state
from hotlap.same_samples import FEW

YES = "yes"


def repeats(loader: Any) -> bool:
    """Whether the samples of a DataLoader depend on their index and nothing else.

    A few are drawn in a forked process, twice, and others in between. They are to be the same
    again, to draw no number of a generator, and to change nothing that the dataset holds. Where
    that cannot be seen the answer is no.
    """
    if isinstance(loader.dataset, IterableDataset) or not _has_torchs_order(loader):
        return False
    return asked_in_a_fork(lambda: YES if _same_again(loader) else "", loader.dataset) == YES


def _has_torchs_order(loader: Any) -> bool:
    """Whether the order is decided at a pass's begin, by the random numbers of then."""
    batches = type(loader.batch_sampler) in (BatchSampler, type(None))
    return batches and type(loader.sampler).__module__.startswith("torch.")


def _same_again(loader: Any) -> bool:
    dataset, length = loader.dataset, len(loader.dataset)
    first, others = range(min(FEW, length)), range(max(0, length - FEW), length)

    def drawn(indices: range) -> Any:
        if loader.batch_sampler is None:  # the dataset makes batches itself
            return [fingerprint(loader.collate_fn(dataset[i])) for i in indices]
        if callable(getattr(dataset, "__getitems__", None)):
            return fingerprint(loader.collate_fn(dataset.__getitems__(list(indices))))
        return fingerprint(loader.collate_fn([dataset[i] for i in indices]))

    once = drawn(first)  # which may open files
    numbers, held = _numbers(), _held(loader)
    drawn(others)
    again = drawn(first)
    same = once == again and numbers == _numbers()
    return same and not changed(held, _held(loader), data_only=True)


def _held(loader: Any) -> State:
    return state(data_only=True, dataset=loader.dataset, collate_fn=loader.collate_fn)


def _numbers() -> tuple[Any, ...]:
    """What the global generators are at."""
    at = np.random.get_state(legacy=False)
    return torch.get_rng_state().tolist(), repr(at), random.getstate()
