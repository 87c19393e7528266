"""A workload that sets a default device for tensors of its own; read by workers."""

import torch
from torch import nn
from torch.utils.data import Dataset

import hotlap


class OneBatch(Dataset):
    """Gives its batch without a DataLoader: torch's own does not work with this default device."""

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.zeros(4, device="cpu"), 0

    def resident_batch(self, batch_size, collate_fn, device):
        y = torch.zeros(batch_size, dtype=torch.int64, device=device)
        return [torch.ones(batch_size, 4, device=device), y]


def on_meta():
    made = hotlap.Workload(
        model=nn.Linear(4, 2),
        dataset=OneBatch(),
        loss=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.1, **kernel),
        batch_size=8,
    )
    torch.set_default_device("meta")
    return made
