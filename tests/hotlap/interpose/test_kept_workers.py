"""Kept workers that hotlap imposes end where they would miss something, and only there."""

import random

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

KEPT = {"num_workers": 1, "persistent_workers": True}


class Files(Dataset):
    def __init__(self):
        self.files = [str(i) for i in range(8)]

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor(int(self.files[i]))


def reason(interposition):
    return {note["setting"]: note["reason"] for note in interposition.notes}


def flat(loader):
    return [int(one) for batch in loader for one in batch]


class Buckets:
    """Decides as it is asked for its batches, and not as it gives the first one."""

    def __len__(self):
        return 2

    def __iter__(self):
        return iter(torch.randperm(8).view(2, 4).tolist())


def test_an_order_that_is_decided_at_once_is_the_plain_script_s(interpose):
    def numbers():
        torch.manual_seed(0)
        loader = DataLoader(Files(), batch_sampler=Buckets(), num_workers=1)
        return [[*flat(loader), float(torch.rand(()))] for _ in range(3)]

    plain = numbers()
    interposition = interpose(persistent_workers=True)
    assert numbers() == plain and interposition.notes == []


@pytest.mark.parametrize("way", ["in place", "anew"])
def test_a_list_of_texts_that_is_shuffled_between_epochs_reaches_the_workers(interpose, way):
    interposition = interpose(**KEPT)
    rows, numbers = Files(), random.Random(0)
    loader = DataLoader(rows, 4)
    for _ in range(3):
        if way == "in place":
            numbers.shuffle(rows.files)
        else:
            rows.files = numbers.sample(rows.files, 8)
        assert flat(loader) == [int(name) for name in rows.files]
    told = reason(interposition)["persistent_workers"]
    assert told.startswith("the items of dataset.files changed between two passes")


def test_two_passes_at_once_have_an_iterator_each(interpose):
    interposition = interpose(**KEPT)
    loader = DataLoader(Files(), 4)
    pairs = [(int(a[0]), int(b[0])) for a, b in zip(loader, loader, strict=True)]
    assert pairs == [(0, 0), (4, 4)]
    assert (
        "two passes over the loader are open at once" in reason(interposition)["persistent_workers"]
    )
    nested = [(int(a[0]), int(b[0])) for a in loader for b in loader]
    assert nested == [(0, 0), (0, 4), (4, 0), (4, 4)]


def test_a_pass_within_a_pass_that_was_kept_so_far(interpose):
    interposition = interpose(**KEPT)
    loader = DataLoader(Files(), 4)
    flat(loader)
    nested = [(int(a[0]), int(b[0])) for a in loader for b in loader]
    assert nested == [(0, 0), (0, 4), (4, 0), (4, 4)]
    assert list(reason(interposition)) == ["persistent_workers"]


def test_loaders_made_at_one_line_and_used_in_turns_keep_their_workers(interpose):
    interposition = interpose(**KEPT)
    loaders = [DataLoader(Files(), 4) for _ in range(2)]
    for _ in range(3):
        for loader in loaders:  # the other one has just lost its workers, with its pass open
            assert next(iter(loader)).tolist() == [0, 1, 2, 3]
    assert interposition.notes == [] and loaders[1].persistent_workers


def test_a_pass_that_the_script_breaks_off_keeps_the_workers(interpose):
    interposition = interpose(**KEPT)
    loader = DataLoader(Files(), 4)
    pids = set()
    for _ in range(3):
        for batch in loader:
            assert batch.tolist() == [0, 1, 2, 3]
            break
        pids.add(loader._iterator._workers[0].pid)
    iterator = iter(loader)
    assert len(list(iterator)) == 2
    iterator = iter(loader)  # while the old one, whose pass has ended, is still there
    assert len(list(iterator)) == 2
    pids.add(loader._iterator._workers[0].pid)
    assert len(pids) == 1 and interposition.notes == []
