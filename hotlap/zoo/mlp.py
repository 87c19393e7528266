"""digits_mlp: a tiny network on real digits, whose step is over in no time. For tests."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import AdamW

from hotlap.workload import Workload, default_device
from hotlap.zoo.data import build, check_size, n_classes_of


def digits_mlp(
    data: dict[str, Any] | None = None,
    batch_size: int = 64,
    width: int = 64,
    lr: float = 1e-3,
    device: str | None = None,
) -> Workload:
    """A perceptron with one hidden layer of `width` units, on vectors of shape (batch, 64).

    Raises:
        UserInputError: The data cannot be built or does not fill a batch.
    """
    device = device or default_device()
    dataset: Any = build(data, "hotlap.zoo.digits.digits", device=device)
    check_size(dataset, batch_size)
    n_inputs = dataset[0][0].numel()
    return Workload(
        model=nn.Sequential(
            nn.Linear(n_inputs, width), nn.ReLU(), nn.Linear(width, n_classes_of(dataset, None))
        ),
        dataset=dataset,
        loss=classification_loss,
        optimizer=partial(AdamW, lr=lr),
        batch_size=batch_size,
        device=device,
        name="digits_mlp",
    )


def classification_loss(model: nn.Module, batch: Any) -> torch.Tensor:
    """Mean cross entropy; `batch` is samples and their labels, shape (batch,)."""
    samples, labels = batch
    return F.cross_entropy(model(samples), labels)
