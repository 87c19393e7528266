"""Samples of a batch without looking at it, where that is certain.

Counting looks at a batch at each step, which costs some microseconds: nothing, unless a step takes
half a millisecond.
"""

from __future__ import annotations

from typing import Any

from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler
from torch.utils.data.dataloader import default_collate

from hotlap.loading import Resident
from hotlap.workload import Workload


def known_batch_size(workload: Workload, loader: Any) -> int | None:
    """Samples of every batch of `loader` but an epoch's last one; None where one has to count.

    Certain where the same batch comes again and again, and where all between the dataset's length
    and the batch is torch's own: then a batch holds as many samples as indices were asked for.
    """
    if isinstance(loader, Resident):
        return workload.count(loader.batch)
    certain = (
        workload.n_samples is None
        and type(loader) is DataLoader
        and type(loader.batch_sampler) is BatchSampler
        and type(loader.sampler) in (RandomSampler, SequentialSampler)
        and loader.collate_fn is default_collate
        and getattr(loader, "in_order", True)  # else the last batch may come before others
        and not hasattr(loader.dataset, "__getitems__")  # may give more or fewer than asked for
    )
    return loader.batch_size if certain else None
