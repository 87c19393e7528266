"""Real handwritten digits that ship with scikit-learn: 1797 images of 8 x 8 pixels."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import Dataset


def digits() -> Dataset[Any]:
    """The digits. A sample is a float tensor of shape (64,) in 0..1 and its label, 0 to 9."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    vectors = torch.tensor(images / 16, dtype=torch.float32, device="cpu")
    return Digits(vectors, torch.tensor(labels, device="cpu").long())


class Digits(Dataset[Any]):
    """Vectors of shape (n, 64) with labels of shape (n,), in memory."""

    classes = tuple("0123456789")

    def __init__(self, vectors: torch.Tensor, labels: torch.Tensor) -> None:
        self.vectors = vectors
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.vectors[index], self.labels[index]
