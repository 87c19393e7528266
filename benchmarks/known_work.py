"""A workload that does half as much work again without one setting as with it, by construction.

A step multiplies matrices, 600 times with PyTorch's defaults and 400 times with
`cudnn_benchmark=true`, a flag that does nothing else on a CPU. So whoever measures the second
settings against the first has to find 1.5, whatever the machine and its neighbours do to both.
What else a step does (a batch, an update) takes some hundredth of it and makes 1.49 of that.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import Dataset

import hotlap

SPEEDUP = 1.5
MUCH, LITTLE = 600, 400
SIDE = 128
"""Of the matrices: one product takes a twentieth of a millisecond on one core."""


class Numbers(Dataset[torch.Tensor]):
    """Samples that cost nothing."""

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.ones(1)


def known_work() -> hotlap.Workload:
    """Work that is known; only its amount depends on the settings."""
    matrix = torch.eye(SIDE)

    def loss(model: torch.nn.Module, batch: Any) -> torch.Tensor:
        product = matrix
        for _ in range(LITTLE if torch.backends.cudnn.benchmark else MUCH):
            product = product @ matrix
        return model(batch).mean() + product[0, 0]

    return hotlap.Workload(
        model=torch.nn.Linear(1, 1),
        dataset=Numbers(),
        loss=loss,
        optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.0, **kernel),
        batch_size=1,
        device="cpu",
        name="known_work",
    )
