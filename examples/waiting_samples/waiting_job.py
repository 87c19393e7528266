"""A small network whose samples wait, as for a disk or a network: workers bring most here.

    python tune.py --config-dir examples/waiting_samples/conf +model=waiting budget=3m

This module and conf/model/waiting.yaml beside it are all that a workload of your own needs.
"""

from __future__ import annotations

import time
from functools import partial

import torch
from torch import nn
from torch.utils.data import Dataset

import hotlap

N_CLASSES = 10
SIZE = 32
"""Pixels of an image's side."""


class WaitingImages(Dataset[tuple[torch.Tensor, int]]):
    """Noisy images of ten patterns; each waits before it is given.

    Args:
        n_images: How many there are.
        wait_s: How long each one waits.
    """

    def __init__(self, n_images: int, wait_s: float) -> None:
        self.n_images = n_images
        self.wait_s = wait_s
        self.patterns = torch.randn(
            N_CLASSES, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0)
        )

    def __len__(self) -> int:
        return self.n_images

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(self.wait_s)
        label = index % N_CLASSES
        noise = torch.randn(3, SIZE, SIZE, generator=torch.Generator().manual_seed(index))
        return self.patterns[label] + noise, label


def make(
    batch_size: int = 32, wait_ms: float = 3.0, n_images: int = 8192, device: str = "cpu"
) -> hotlap.Workload:
    """The workload; a batch is images of shape (batch, 3, 32, 32) and their labels."""
    return hotlap.Workload(
        model=nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, N_CLASSES),
        ),
        dataset=WaitingImages(n_images, wait_ms / 1e3),
        loss=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        optimizer=partial(torch.optim.AdamW, lr=3e-3),
        batch_size=batch_size,
        device=device,
        name="waiting",
    )
