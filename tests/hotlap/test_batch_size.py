"""Batches are counted without being looked at only where their size is certain."""

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler, default_collate

from hotlap.batch_size import known_batch_size
from hotlap.drive import drive
from hotlap.feed import Feed
from hotlap.loading import Resident
from hotlap.workload import Workload


class Numbers(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.tensor([float(index)]), index


class Fetched(Numbers):
    def __getitems__(self, indices):
        return [self[index] for index in indices[:1]]


def workload(**more):
    return Workload(
        model=torch.nn.Linear(1, 1),
        dataset=Numbers(),
        loss=lambda model, batch: model(batch[0]).mean(),
        optimizer=lambda parameters: torch.optim.SGD(parameters, 0.1),
        batch_size=4,
        device="cpu",
        **more,
    )


@pytest.mark.parametrize("shuffle", [False, True])
def test_torchs_own_way_is_certain(shuffle):
    loader = DataLoader(Numbers(), batch_size=4, shuffle=shuffle)
    assert known_batch_size(workload(), loader) == 4


def test_one_batch_again_and_again_is_certain():
    assert known_batch_size(workload(), Resident([torch.zeros(7, 1)])) == 7


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(Numbers(), batch_size=4, collate_fn=lambda batch: default_collate(batch[:1])),
        DataLoader(Numbers(), batch_sampler=[[0], [1, 2, 3]]),
        DataLoader(Numbers(), batch_size=None),
        DataLoader(Numbers(), batch_size=4, sampler=SubsetRandomSampler(range(10))),
        DataLoader(Fetched(), batch_size=4),
        [[torch.zeros(4, 1)]],
    ],
    ids=["collate_fn", "batch_sampler", "no batching", "sampler", "__getitems__", "own loader"],
)
def test_all_else_is_counted(loader):
    assert known_batch_size(workload(), loader) is None


def test_the_users_own_count_is_asked():
    assert known_batch_size(workload(n_samples=len), DataLoader(Numbers(), batch_size=4)) is None


@pytest.mark.parametrize("n_epoch_steps", [3, None], ids=["length known", "found out"])
def test_an_epochs_last_batch_is_counted(n_epoch_steps):
    """Two epochs and the beginning of a third, of batches of 4, 4 and 2 samples."""
    feed = Feed(DataLoader(Numbers(), batch_size=4), n_epoch_steps)
    counted, trained = [], []

    def timing():
        for _ in range(8):
            trained.append((yield)[0])
        return []

    def count(batch):
        counted.append(len(batch[0]))
        return counted[-1]

    drive(timing(), lambda batch: None, feed, count, 4 if n_epoch_steps else None)
    assert trained == [4, 4, 2, 4, 4, 2, 4, 4]
    assert counted == ([2, 2] if n_epoch_steps else trained)
