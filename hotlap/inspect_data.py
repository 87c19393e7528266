"""Facts about a dataset: does changing how it is loaded change what is trained?

Three ways in which it does, and no error tells of any:

- Each loader worker has a copy of a stream (IterableDataset). Unless the stream asks which worker
  it is in, each copy gives everything, and an epoch has as many times the samples (pytorch#30599).
- Workers copy the dataset when they start. Persistent ones start once, so what the main process
  changes between epochs (`set_epoch`) does not reach them, and what the dataset counts is kept in
  them instead of beginning anew.
- A random generator that the dataset itself holds is copied too: all workers, and in each epoch
  anew unless they persist, draw the same numbers. The global ones of torch and random do not have
  that fault, nor has numpy's since torch 1.9: each worker seeds them for itself, each epoch anew.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, IterDataPipe, get_worker_info

from hotlap.fingerprint import fingerprint
from hotlap.interpose.state import State, changed, has_epochs, state
from hotlap.order import draw, indices
from hotlap.same_samples import seed_all, seed_host
from hotlap.workload import Workload

MOST_SAMPLES = 256
"""A stream that ends within so many samples is compared whole, a longer one by its beginning."""

TRY_S = 2.0
"""Drawing from a stream ends after so many seconds, in each of two tries."""

N_WORKERS = 2

GENERATORS = (np.random.Generator, np.random.RandomState, random.Random, torch.Generator)

DEPTH = 4
"""Datasets within datasets (a subset, a wrapper) are looked into so deep."""


def data_facts(
    workload: Workload, loader: DataLoader[Any], may_have_workers: bool = True
) -> dict[str, Any]:
    """The facts of a dataset that is read by `loader`, as data that JSON can hold.

    Args:
        workload: Has the dataset.
        loader: Reads it.
        may_have_workers: Whether workers may be started to see what they give of a stream.

    Returns:
        - `stream_sharing`: "shared" if workers give a stream's samples once, "repeated" if each
          gives them all, "unknown" if neither could be proven; "" for a map-style dataset
        - `dataset_changes`: why it may change from epoch to epoch, or ""
        - `own_generator`: where it holds a random generator of its own, or ""
        - `fixed_order`: why the order of batches means something, or ""
    """
    stream = isinstance(workload.dataset, IterableDataset)
    sharing = stream_sharing(workload) if stream and may_have_workers else "unknown"
    return {
        "stream_sharing": sharing if stream else "",
        "dataset_changes": dataset_changes(loader),
        "own_generator": own_generator(workload.dataset),
        "fixed_order": _fixed_order(workload, stream),
    }


def stream_sharing(workload: Workload) -> str:
    """Whether two workers share the samples of a stream: "shared", "repeated" or "unknown".

    It is drawn from in this process and in two workers, with the same random numbers for each
    sample. One that ends soon is compared whole. A longer one is shared if the first worker's
    samples come in this order in the whole stream too, and the second worker has others. One that
    refuses to be drawn from so, in a worker say, tells nothing.
    """
    try:
        return _stream_sharing(workload)
    except Exception:  # it trains all the same: the script or the workload draws in its own way
        return "unknown"


def _stream_sharing(workload: Workload) -> str:
    dataset: Any = workload.dataset
    if isinstance(dataset, IterDataPipe):  # DataLoader itself treats these in a special way
        return "unknown"
    tagged = _Tagged(dataset)
    alone, ended = _drawn(DataLoader(tagged, batch_size=None), MOST_SAMPLES)
    both, both_ended = _drawn(
        DataLoader(
            tagged,
            batch_size=None,
            num_workers=N_WORKERS,
            worker_init_fn=workload.worker_init_fn,
            multiprocessing_context=workload.loader_defaults.get("multiprocessing_context"),
        ),
        N_WORKERS * MOST_SAMPLES,
    )
    whole = [sample for _, sample in alone]
    first, second = ([sample for n, sample in both if n == worker] for worker in range(N_WORKERS))
    if ended and both_ended:
        if sorted(first + second) == sorted(whole):
            return "shared"
        return "repeated" if len(first) + len(second) > len(whole) else "unknown"
    if len(set(whole)) < 2 or not first or not second:
        return "unknown"  # nothing but random numbers, or too slow to see anything
    if first[0] == second[0]:
        return "repeated"
    # Each step of `in` takes from the iterator, so this asks for the same order too.
    rest = iter(whole)
    in_order = all(sample in rest for sample in first[: len(whole) // N_WORKERS])
    return "shared" if in_order and not set(first) & set(second) else "unknown"


def dataset_changes(loader: DataLoader[Any]) -> str:
    """Why the dataset may be another one in the next epoch; empty if nothing hints at it.

    Drawn are the first two samples in the loader's own order. What cannot be drawn tells nothing.
    """
    dataset = loader.dataset
    if place := has_epochs(dataset):
        return f"{place} has a method set_epoch"
    before: State | None = None
    try:
        for _ in _few(loader):
            # The first sample may open files, and find out how much is in them.
            before = state(data_only=True, dataset=dataset) if before is None else before
    except Exception:  # whoever trains on it meets that or not: nothing here depends on it
        pass
    if before is None:
        return ""
    place = changed(before, state(data_only=True, dataset=dataset), data_only=True)
    return f"{place} changes when a sample is drawn" if place else ""


def _few(loader: DataLoader[Any]) -> Iterator[Any]:
    """The loader's first sample, of a map-style dataset twice, and the second one."""
    if isinstance(loader.dataset, IterableDataset):
        yield from itertools.islice(iter(loader.dataset), 3)
    else:
        asked = list(itertools.islice(indices(loader), 2))
        for index in [*asked[:1], *asked]:
            yield draw(loader, [index])


def own_generator(dataset: Any) -> str:
    """Where the dataset holds a random generator of its own, such as `dataset.rng`; or ""."""
    for place, part in parts(dataset):
        for name, value in getattr(part, "__dict__", {}).items():
            if isinstance(value, GENERATORS):
                return f"{place}.{name}"
    return ""


def _fixed_order(workload: Workload, stream: bool) -> str:
    defaults = workload.loader_defaults
    if stream:
        return "the dataset is a stream, which has an order of its own"
    for name in ("sampler", "batch_sampler"):
        if defaults.get(name) is not None:
            return f"the workload brings its own {name}"
    shuffled = defaults.get("shuffle", workload.shuffle)
    return "" if shuffled else "the workload does not shuffle"


def _drawn(loader: DataLoader[Any], n: int) -> tuple[list[tuple[int, str]], bool]:
    """At most `n` samples with the worker that gave each, and whether that was all."""
    start = time.perf_counter()
    found = []
    seed_all(0)
    iterator = iter(loader)
    for worker, sample in itertools.islice(iterator, n):
        found.append((int(worker), str(sample)))
        if time.perf_counter() - start > TRY_S:
            return found, False
    return found, len(found) < n


def parts(dataset: Any, place: str = "dataset", depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """The dataset and those that it wraps, each with where it stands."""
    yield place, dataset
    if depth:
        for name, value in getattr(dataset, "__dict__", {}).items():
            values = value if isinstance(value, (list, tuple)) else [value]
            for part in values:
                if isinstance(part, torch.utils.data.Dataset):
                    yield from parts(part, f"{place}.{name}", depth - 1)


class _Tagged(IterableDataset[Any]):
    """Gives, instead of a stream's samples, the number of the worker and a fingerprint.

    All else is the stream's, for a `worker_init_fn` that sets what its copy has to give.
    """

    def __init__(self, dataset: Any) -> None:
        self.__dict__["_dataset"] = dataset

    def __iter__(self) -> Iterator[tuple[int, str]]:
        info = get_worker_info()
        worker = info.id if info is not None else 0
        seed_host(0)
        for sample in self._dataset:
            yield worker, fingerprint(sample)[0]
            seed_host(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_dataset"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._dataset, name, value)

    def __reduce__(self) -> Any:
        return type(self), (self._dataset,)
