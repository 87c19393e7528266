"""A small workload on images, for tests of what settings do to it."""

import torch
from torch import nn
from torch.utils.data import Dataset

import hotlap

F = nn.functional


class Images(Dataset):
    def __init__(self, n=32):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        return torch.randn(3, 8, 8, generator=generator), i % 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.head = nn.Linear(4 * 36, 2)
        self.seen = []

    def forward(self, x):
        self.seen.append((x.is_contiguous(memory_format=torch.channels_last), x.shape[0]))
        y = self.conv(x)
        self.dtype = y.dtype
        return self.head(y.flatten(1))


def loss(model, batch):
    x, y = batch
    return F.cross_entropy(model(x), y)


def workload(**changes):
    torch.manual_seed(0)
    values = {
        "model": Net(),
        "dataset": Images(),
        "loss": loss,
        "optimizer": lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.1, **kernel),
        "batch_size": 8,
        "shuffle": False,
    }
    return hotlap.Workload(**{**values, **changes})
