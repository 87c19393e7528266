"""Samples that wait: a small network on images that each take 2 ms to come, as from a disk.

python benchmarks/rival/loops/waiting.py 3
"""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH_SIZE = 16
N_SAMPLES = 1024
WAIT_S = 0.002
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Waiting(Dataset):
    """Images of shape (3, 24, 24); each waits before it is given."""

    def __init__(self):
        self.images = torch.randn(64, 3, 24, 24)

    def __len__(self):
        return N_SAMPLES

    def __getitem__(self, index):
        time.sleep(WAIT_S)
        return self.images[index % 64] * (1 + index / N_SAMPLES), index % 10


def make_dataset():
    return Waiting()


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 24, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(24, 48, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(48 * 16, 10),
    )


def loss_of(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets)


def main(n_epochs):
    torch.manual_seed(0)
    loader = DataLoader(make_dataset(), batch_size=BATCH_SIZE, shuffle=True)
    model = make_model().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(n_epochs):
        for inputs, targets in loader:
            inputs, targets = inputs.to(DEVICE), targets.to(DEVICE)
            optimizer.zero_grad()
            loss = loss_of(model(inputs), targets)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
