"""Batches: to the device in the right layout, and cut into micro batches.

A batch is whatever a loader yields: a tensor, or tuples, lists, dicts and named tuples of them, or
an object that has its own `.to()`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from hotlap.errors import InvalidTrial
from hotlap.settings import Settings

WHOLE = (str, bytes, int, float, complex)
"""What is no data of single samples, and goes with each piece of a batch."""


def to_device(batch: Any, device: torch.device | str, settings: Settings) -> Any:
    """`batch` on `device`, its 4-D tensors in the memory format of `settings`.

    Tensors of another rank, and everything that is no tensor, keep their layout. With
    `memory_format` contiguous nothing is laid out anew.
    """
    # The usual cases first and lean: this runs at each step, and a step may take half a ms.
    plainly = settings.memory_format == "contiguous" and not settings.non_blocking
    if type(batch) is list:
        if plainly:
            return [
                value.to(device)
                if isinstance(value, torch.Tensor)
                else to_device(value, device, settings)
                for value in batch
            ]
        return [to_device(value, device, settings) for value in batch]
    if isinstance(batch, torch.Tensor):
        if plainly:
            return batch.to(device)
        if settings.memory_format == "channels_last" and has_image_rank(batch):
            return batch.to(
                device=device,
                non_blocking=settings.non_blocking,
                memory_format=torch.channels_last,
            )
        return batch.to(device=device, non_blocking=settings.non_blocking)
    if callable(getattr(batch, "to", None)):
        return _object_to(batch, device, settings)
    if isinstance(batch, Mapping):
        moved = {key: to_device(value, device, settings) for key, value in batch.items()}
        return moved if type(batch) is dict else _rebuilt(batch, moved)
    if isinstance(batch, (tuple, list)):
        values = [to_device(value, device, settings) for value in batch]
        return type(batch)(*values) if hasattr(batch, "_fields") else type(batch)(values)
    return batch


def has_image_rank(tensor: torch.Tensor) -> bool:
    """Whether `channels_last` means something for it: dense, shape (n, channels, height, width)."""
    return tensor.dim() == 4 and tensor.layout == torch.strided and not tensor.is_nested


def tensors(batch: Any) -> Iterator[torch.Tensor]:
    """All tensors in `batch`, in order."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif hasattr(batch, "items"):
        for value in batch.values():
            yield from tensors(value)
    elif isinstance(batch, (list, tuple, set)):
        for value in batch:
            yield from tensors(value)


def pieces(batch: Any, n_samples: int, n: int) -> Iterator[Any]:
    """Cut `batch` of `n_samples` along dimension 0 into pieces of at most `n` samples.

    Scalars and texts, and lists of anything but tensors that are not `n_samples` long, go whole
    into each piece.

    Raises:
        InvalidTrial: A tensor's dimension 0 is not the batch's, or there is an object of another
            class, so only the user knows how to cut.
    """
    for start in range(0, n_samples, n):
        yield _cut(batch, start, min(start + n, n_samples), n_samples)


def _cut(batch: Any, start: int, stop: int, n_samples: int) -> Any:
    if batch is None or isinstance(batch, WHOLE):
        return batch
    if isinstance(batch, torch.Tensor):
        if batch.dim() == 0:
            return batch
        if batch.shape[0] != n_samples:
            raise InvalidTrial(
                f"micro_batch_size cannot cut a batch of {n_samples} samples: it holds a tensor "
                f"of shape {tuple(batch.shape)}, whose first dimension is another one; give "
                "Workload(split=...) or take micro_batch_size=null"
            )
        return batch[start:stop]
    if isinstance(batch, Mapping):
        cut = {key: _cut(value, start, stop, n_samples) for key, value in batch.items()}
        return cut if type(batch) is dict else _rebuilt(batch, cut)
    if isinstance(batch, (tuple, list)):
        if len(batch) == n_samples and not any(isinstance(v, torch.Tensor) for v in batch):
            return batch[start:stop]
        values = [_cut(value, start, stop, n_samples) for value in batch]
        return type(batch)(*values) if hasattr(batch, "_fields") else type(batch)(values)
    # Given whole, it would be trained on once for each piece.
    raise InvalidTrial(
        f"micro_batch_size cannot cut a batch that holds an object of type "
        f"{type(batch).__name__}; give Workload(split=lambda batch, n: ...), with n_samples, or "
        "take micro_batch_size=null"
    )


def _object_to(batch: Any, device: torch.device | str, settings: Settings) -> Any:
    try:
        moved = batch.to(device, non_blocking=settings.non_blocking)
    except TypeError:  # its own .to() takes the device only
        moved = batch.to(device)
    # Libraries' batches are often mappings with a .to(): their images need the layout too.
    if settings.memory_format == "channels_last" and isinstance(moved, Mapping):
        images = {key: to_device(value, device, settings) for key, value in moved.items()}
        return _rebuilt(moved, images)
    return moved


def _rebuilt(batch: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """A mapping of the batch's own kind with other values, or a plain dict if it cannot be one."""
    try:
        return type(batch)(values)  # type: ignore[call-arg]
    except TypeError:
        return values
