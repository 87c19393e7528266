"""A workload that one setting makes half as fast again, exactly and by construction.

A step always does the same: it multiplies matrices, 500 times. With `cudnn_benchmark=true`, a flag
that does nothing on a CPU, it counts for three samples, else for two. So whoever measures the
second settings against the first has to find 1.5, whatever the machine and its neighbours do to
both. (Less work instead of more samples would not be exact: what else a step does stays the same.)
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import Dataset

import hotlap

MANY, FEW = 3, 2
SPEEDUP = MANY / FEW
N_PRODUCTS = 500
SIDE = 128
"""Of the matrices: one product takes a twentieth of a millisecond on one core."""


class Numbers(Dataset[torch.Tensor]):
    """Samples that cost nothing."""

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.ones(1)


def known_work() -> hotlap.Workload:
    """Work that is known; only its samples depend on the settings."""
    matrix = torch.eye(SIDE)

    def loss(model: torch.nn.Module, batch: Any) -> torch.Tensor:
        product = matrix
        for _ in range(N_PRODUCTS):
            product = product @ matrix
        return model(batch).mean() + product[0, 0]

    return hotlap.Workload(
        model=torch.nn.Linear(1, 1),
        dataset=Numbers(),
        loss=loss,
        optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.0, **kernel),
        batch_size=1,
        n_samples=lambda batch: MANY if torch.backends.cudnn.benchmark else FEW,
        device="cpu",
        name="known_work",
    )
