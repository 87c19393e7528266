"""Workload: what is trained. Tuning never changes it.

A user names a function by its dotted path; the function returns a `Workload`:

    def mine(batch_size: int = 32) -> hotlap.Workload: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import Dataset

from hotlap.errors import InvalidTrial


@dataclass
class Workload:
    """A model with its data, loss, optimizer and batch size.

    Attributes:
        model: The module to train, on the CPU; hotlap moves it to `device`.
        dataset: Map-style or iterable dataset of single samples.
        loss: `loss(model, batch)` runs the forward pass and returns a scalar tensor, the mean over
            the batch's samples. `batch` is what the loader yields, already on `device`.
        optimizer: `optimizer(parameters, **kernel)` builds the optimizer; hotlap passes the kernel
            choice (`foreach=`, `fused=`) as keywords, so the function must hand them on.
        batch_size: Samples for one step.
        collate_fn: As DataLoader's; None for torch's own.
        shuffle: As DataLoader's; ignored for an iterable dataset.
        drop_last: As DataLoader's.
        worker_init_fn: As DataLoader's.
        loader_defaults: Loader settings that the workload itself asks for (its own baseline).
        n_samples: `n_samples(batch)` counts the samples of a batch; None takes the first
            dimension of the batch's first tensor.
        tokens_per_sample: Tokens in one sample, if tokens per second make sense; else None.
        device: "cpu", "cuda" or "cuda:N".
        split: `split(batch, n)` cuts a batch into pieces of at most n samples for
            `micro_batch_size`; None cuts every tensor along dimension 0.
        name: What reports call it.
    """

    model: nn.Module
    dataset: Dataset[Any]
    loss: Callable[[nn.Module, Any], torch.Tensor]
    optimizer: Callable[..., Optimizer]
    batch_size: int
    collate_fn: Callable[[list[Any]], Any] | None = None
    shuffle: bool = True
    drop_last: bool = True
    worker_init_fn: Callable[[int], None] | None = None
    loader_defaults: dict[str, Any] = field(default_factory=dict)
    n_samples: Callable[[Any], int] | None = None
    tokens_per_sample: int | None = None
    device: str = "cpu"
    split: Callable[[Any, int], Iterable[Any]] | None = None
    name: str = "workload"

    def count(self, batch: Any) -> int:
        """Samples in `batch`; see `count` if there is no `n_samples`."""
        return self.n_samples(batch) if self.n_samples else count(batch)


def count(batch: Any) -> int:
    """The first dimension of the first tensor in `batch`.

    Raises:
        InvalidTrial: There is none, so only the user knows how many samples it has.
    """
    try:
        if type(batch) is list and isinstance(batch[0], torch.Tensor):  # soon told, at each step
            return batch[0].shape[0]
        return first_tensor(batch).shape[0]
    except (TypeError, IndexError):
        raise InvalidTrial(
            f"a batch of type {type(batch).__name__} holds no tensor whose first dimension could "
            "be its number of samples; tell how to count and to cut it: "
            "Workload(n_samples=lambda batch: ..., split=lambda batch, n: ...)"
        ) from None


def default_device() -> str:
    """The device a workload takes when the user named none: "cuda" where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def first_tensor(batch: Any) -> torch.Tensor:
    """The first tensor found in nested tuples, lists and dicts.

    Raises:
        TypeError: There is no tensor in `batch`.
    """
    if isinstance(batch, torch.Tensor):
        return batch
    values = batch.values() if isinstance(batch, dict) else batch
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"a batch of type {type(batch).__name__} holds no tensor")
    for value in values:
        try:
            return first_tensor(value)
        except TypeError:
            continue
    raise TypeError(f"a batch of type {type(batch).__name__} holds no tensor")
