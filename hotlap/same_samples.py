"""Makes a workload give the same samples in the same order, whichever process draws them.

With PyTorch's own ways each loader worker has random numbers of its own, so an augmented sample
looks different with another number of workers, and a shuffled epoch has another order. That is
right for training; to compare settings, both have to be the same.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, Sampler, default_collate

from hotlap.fingerprint import fingerprint
from hotlap.workload import Workload

FEW = 4
"""Samples that are drawn twice to see whether a dataset repeats itself."""


def repeatable(workload: Workload, seed: int) -> Workload:
    """The workload with samples and their order decided by `seed`.

    A stream (IterableDataset), a resident batch and a sampler of the user's own stay as they are:
    what they give may depend on the loader's settings.
    """
    dataset: Any = workload.dataset
    if isinstance(dataset, IterableDataset) or callable(getattr(dataset, "resident_batch", None)):
        return workload
    kind = SeededBatches if hasattr(dataset, "__getitems__") else Seeded
    defaults = dict(workload.loader_defaults)
    if "sampler" not in defaults and "batch_sampler" not in defaults:
        if defaults.pop("shuffle", workload.shuffle):
            defaults["sampler"] = Shuffled(len(dataset), seed)
        else:
            defaults["shuffle"] = False
    return replace(workload, dataset=kind(dataset, seed), loader_defaults=defaults)


def repeats_itself(workload: Workload) -> bool:
    """Whether a sample is a function of its index and the global random numbers.

    Then two loaders have to give the same batches, whatever their settings. Not so with a stream,
    a sampler of the user's own, or a dataset that holds a random generator or counts its samples.
    """
    dataset: Any = workload.dataset
    if not isinstance(dataset, Seeded) or not isinstance(
        workload.loader_defaults.get("sampler", Shuffled(0, 0)), Shuffled
    ):
        return False
    if "batch_sampler" in workload.loader_defaults:
        return False
    collate = workload.collate_fn or default_collate
    length = len(dataset)
    first, others = range(min(FEW, length)), range(max(0, length - FEW), length)

    def drawn(indices: range) -> Any:
        if isinstance(dataset, SeededBatches):
            return fingerprint(collate(dataset.__getitems__(list(indices))))
        return fingerprint(collate([dataset[i] for i in indices]))

    once, _, again = drawn(first), drawn(others), drawn(first)
    return bool(once == again)


def seed_all(seed: int) -> None:
    """Seed torch (with its devices), numpy and random."""
    torch.manual_seed(seed % 2**63)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def seed_host(seed: int) -> None:
    """The same for the processor alone, below 2**32: a loader worker must not touch a device."""
    torch.default_generator.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


class Seeded(Dataset[Any]):
    """A map-style dataset whose random numbers are decided by a seed and the sample's index.

    All else is the dataset's: whoever reads or sets an attribute means that one, as a
    `worker_init_fn` does that opens a file for `get_worker_info().dataset`.
    """

    def __init__(self, dataset: Any, seed: int) -> None:
        self.__dict__["_dataset"] = dataset
        self.__dict__["_seed"] = seed

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: Any) -> Any:
        self._deal(index)
        return self._dataset[index]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_dataset"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._dataset, name, value)

    def __reduce__(self) -> Any:
        return type(self), (self._dataset, self._seed)

    def _deal(self, index: Any) -> None:
        seed_host(zlib.crc32(repr((self._seed, index)).encode()))


class SeededBatches(Seeded):
    """The same for a dataset that draws a batch's samples at once."""

    def __getitems__(self, indices: list[Any]) -> Any:
        """The samples at `indices`."""
        self._deal(indices)
        return self._dataset.__getitems__(indices)


class Shuffled(Sampler[int]):
    """The indices below `length` in an order decided by the seed and the epoch."""

    def __init__(self, length: int, seed: int) -> None:
        self._length = length
        self._seed = seed
        self._epoch = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        # DataLoader asks for a second iterator before it begins the first, so count when it begins.
        self._epoch += 1
        generator = torch.Generator().manual_seed(self._seed % 2**62 + self._epoch)
        order = torch.randperm(self._length, generator=generator, device="cpu")
        yield from order.tolist()
