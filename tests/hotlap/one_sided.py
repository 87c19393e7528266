"""Workloads that show which side of them ran. Read by workers, not collected as tests."""

import multiprocessing
import os
import time

import torch
from torch import nn
from torch.utils.data import Dataset

from hotlap.workload import Workload


class Rows(Dataset):
    def __init__(self, n=64):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.full((8,), float(i) / 64), i % 2


def workload(dataset, loss, **options):
    return Workload(
        model=nn.Linear(8, 2),
        dataset=dataset,
        loss=loss,
        optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.01, **kernel),
        batch_size=8,
        **options,
    )


def _loss(model, batch):
    rows, labels = batch
    return nn.functional.cross_entropy(model(rows), labels)


def never_computes():
    def loss(model, batch):
        raise AssertionError("the model was run")

    return workload(Rows(), loss)


def has_no_workers_while_it_computes(persistent_workers=False):
    def loss(model, batch):
        assert not multiprocessing.active_children(), "a worker lives"
        return _loss(model, batch)

    defaults = {"persistent_workers": True} if persistent_workers else {}
    return workload(Rows(), loss, loader_defaults=defaults)


def takes_its_batch_apart():
    def collate(samples):
        return {"rows": torch.stack([row for row, _ in samples]), "n": len(samples)}

    def loss(model, batch):
        return model(batch.pop("rows")).square().mean()

    return workload(Rows(), loss, collate_fn=collate, n_samples=lambda batch: batch["n"])


def resident():
    class OneBatch(Rows):
        def resident_batch(self, batch_size, collate_fn, device):
            return [torch.zeros(batch_size, 8), torch.zeros(batch_size, dtype=torch.long)]

    return workload(OneBatch(), _loss)


def behaves():
    return workload(Rows(256), _loss)


def keeps_a_mebibyte_a_step():
    kept = []

    def loss(model, batch):
        kept.append(bytearray(os.urandom(1 << 12) * (1 << 8)))
        time.sleep(0.01)  # a quick machine would fill its memory
        return _loss(model, batch)

    return workload(Rows(), loss)


def leaves_files_open():
    class Leaks(Rows):
        kept = []

        def __getitem__(self, i):
            if i % 8 == 0:
                self.kept.append(open(os.devnull))
                time.sleep(0.01)  # a quick machine would meet its limit
            return super().__getitem__(i)

    return workload(Leaks(), _loss)
