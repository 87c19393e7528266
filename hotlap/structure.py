"""What a workload is made of, in few words: by these the bank knows it again.

Nothing here looks at values: weights and samples may differ from run to run, while the time that a
step takes follows from the layers, their shapes, and the shapes of a batch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from hotlap.inspect_data import parts

if TYPE_CHECKING:
    from hotlap.apply import Applied
    from hotlap.workload import Workload

DIGITS = 16
"""Hexadecimal digits of a digest: two workloads of one person never share one by chance."""


def identity(workload: Workload, applied: Applied) -> dict[str, Any]:
    """What tells a workload from others before its first batch, as `inspect_workload` has it."""
    return {
        "batch_size": workload.batch_size,
        "dataset_kind": dataset_kind(workload.dataset),
        "optimizer": type(applied.optimizer).__name__,
        "model_digest": model_digest(applied.model),
    }


def model_digest(model: nn.Module) -> str:
    """Sixteen hexadecimal digits, equal for two models of the same structure.

    The classes of all modules count, in their order and with what torch's own layers say of
    themselves (kernel size, stride, dropout), and so do the shapes, dtypes and `requires_grad` of
    their parameters and buffers. Names and values do not. Lazy modules have to be materialized.
    """
    told = [
        [_class(type(module)), _options(module), *_tensors(module)] for module in model.modules()
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:DIGITS]


def dataset_kind(dataset: Any) -> str:
    """The class of the dataset and of those that it wraps, as `Subset of ImageFolder`."""
    classes = dict.fromkeys(_class(type(part)) for _, part in parts(dataset))
    return " of ".join(classes)


def batch_shapes(batches: Sequence[Sequence[torch.Tensor]]) -> list[str]:
    """The shapes and dtypes in a batch, sorted, as `float32 (8, 3, 224, 224)`.

    Where they vary from batch to batch, what remains is the dtypes and the numbers of dimensions.

    Args:
        batches: All tensors of each batch, at least one batch.
    """
    found = [sorted(f"{_dtype(t)} {tuple(t.shape)}" for t in batch) for batch in batches]
    if all(shapes == found[0] for shapes in found):
        return found[0]
    return sorted({f"{_dtype(t)} {t.dim()} dimensions" for batch in batches for t in batch})


def _class(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _options(module: nn.Module) -> str:
    """What a layer of torch says of itself; one of the user's may say anything, addresses too.

    Containers say where their parameters lie, which is the machine's affair.
    """
    home = type(module).__module__
    is_layer = home.startswith("torch.nn.modules.") and not home.endswith(".container")
    return module.extra_repr() if is_layer else ""


def _tensors(module: nn.Module) -> list[str]:
    own = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
    return [f"{_dtype(t)} {tuple(t.shape)} {t.requires_grad}" for t in own]


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
