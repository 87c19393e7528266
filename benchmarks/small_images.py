"""A small convolution net on photo-like JPEGs: decoding them is most of the work.

python tune.py --config-dir benchmarks/conf +model=small_images
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

import hotlap
from hotlap.zoo.data import build, n_classes_of
from hotlap.zoo.vision import DATA, image_loss, train_transform


def make(
    data: dict[str, Any] | None = None,
    batch_size: int = 16,
    image_size: int = 64,
    device: str = "cpu",
) -> hotlap.Workload:
    """The workload; a batch is images of shape (batch, 3, image_size, image_size) and labels."""
    dataset = build(data, DATA, transform=train_transform(image_size), device=device)
    return hotlap.Workload(
        model=nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, n_classes_of(dataset, None)),
        ),
        dataset=dataset,
        loss=image_loss,
        optimizer=partial(torch.optim.SGD, lr=0.01, momentum=0.9),
        batch_size=batch_size,
        device=device,
        name="small_images",
    )
