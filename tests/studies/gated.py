"""Workloads that train well, or wrongly under one setting each. Read by workers."""

import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import Dataset, get_worker_info

from hotlap.workload import Workload


class Images(Dataset):
    """Noise with its class in it, flipped at random."""

    def __len__(self):
        return 40

    def __getitem__(self, i):
        rows = torch.sin(torch.arange(3 * 8 * 8.0) * (i + 1)).reshape(3, 8, 8)
        rows[0] += i % 4
        return (rows.flip(2) if torch.rand(()) < 0.5 else rows), i % 4


class OwnGenerator(Images):
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __getitem__(self, i):
        image, label = super().__getitem__(i)
        return image + float(self.rng.normal()), label


class OtherInWorkers(Images):
    """As a file that the workers of one machine read at each other's place."""

    def __getitem__(self, i):
        return super().__getitem__(i if get_worker_info() is None else (i + 1) % len(self))


def _loss(model, batch):
    images, labels = batch
    return F.cross_entropy(model(images), labels)


def _workload(dataset=None, loss=_loss):
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.2),
        nn.Conv2d(8, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip
    return Workload(
        model=model,
        dataset=dataset or Images(),
        loss=loss,
        optimizer=lambda parameters, **kernel: torch.optim.AdamW(parameters, lr=1e-3, **kernel),
        batch_size=8,
    )


def good():
    return _workload()


def own_generator():
    return _workload(OwnGenerator())


def other_in_workers():
    return _workload(OtherInWorkers())


def nan_under_bf16():
    def loss(model, batch):
        return _loss(model, batch) * (float("nan") if torch.is_autocast_enabled("cpu") else 1)

    return _workload(loss=loss)


def overflows_in_fp16():
    """Gradients that no scale brings into the range of fp16, while the loss is a fine number."""

    def loss(model, batch):
        return (model(batch[0]) * 1e3).float().pow(2).sum() * 1e3

    return _workload(loss=loss)


def larger_loss_with_cudnn_benchmark():
    def loss(model, batch):
        return _loss(model, batch) * (1.5 if torch.backends.cudnn.benchmark else 1)

    return _workload(loss=loss)


def larger_gradient_with_cudnn_benchmark():
    """The loss stays what it is for now, and the updates are half as large again."""

    def loss(model, batch):
        value = _loss(model, batch)
        return 1.5 * value - 0.5 * value.detach() if torch.backends.cudnn.benchmark else value

    made = _workload(loss=loss)
    made.optimizer = lambda parameters, **kernel: torch.optim.SGD(parameters, lr=1e-3, **kernel)
    return made


def last_bit_with_two_interop_threads():
    def loss(model, batch):
        return _loss(model, batch) * (1 + 1e-6 * (torch.get_num_interop_threads() == 3))

    return _workload(loss=loss)


def dies_under_bf16():
    def loss(model, batch):
        if torch.is_autocast_enabled("cpu"):
            os._exit(7)
        return _loss(model, batch)

    return _workload(loss=loss)


def out_of_memory_under_bf16():
    def loss(model, batch):
        if torch.is_autocast_enabled("cpu"):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return _loss(model, batch)

    return _workload(loss=loss)


def raises():
    raise FileNotFoundError("rows.pt")
