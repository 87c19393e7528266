"""Imposed workers are given up where the script changes the order while it uses the batches."""

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, Sampler, WeightedRandomSampler

from tests.hotlap.interpose.test_workers import KEPT, told


class Rows(Dataset):
    opened = None

    def __len__(self):
        return 24

    def __getitem__(self, i):
        return torch.tensor(i)


class Own(Sampler):
    """Has what it is given, and a count and a generator that its own iteration changes."""

    def __init__(self, **held):
        self.n_drawn, self.rng = 0, np.random.default_rng(0)
        vars(self).update(held)

    def __len__(self):
        return 24

    def __iter__(self):
        for i in range(24):
            self.n_drawn += 1
            self.rng.random()
            yield i


class Hardest(Own):
    """Gives what has the largest loss so far."""

    def __iter__(self):
        for _ in range(24):
            yield int(self.losses.argmax())


class Batches(Own):
    """A batch sampler of its own."""

    def __len__(self):
        return 6

    def __iter__(self):
        for i in range(0, 24, 4):
            self.n_drawn += 1
            yield list(range(i, i + 4))


class Around(Batches):
    """Hands on what another one gives, as accelerate's."""

    def __iter__(self):
        return iter(self.batch_sampler)


def by_sampler(sampler):
    return DataLoader(Rows(), 4, sampler=sampler)


def by_batches(sampler):
    return DataLoader(Rows(), batch_sampler=BatchSampler(sampler, 4, False))


def by_own_batches(sampler):
    return DataLoader(Rows(), batch_sampler=Around(batch_sampler=BatchSampler(sampler, 4, False)))


@pytest.mark.parametrize("made", [by_sampler, by_batches, by_own_batches])
def test_an_order_that_follows_training_is_drawn_without_workers_from_the_next_pass_on(
    interpose, made
):
    def indices():
        sampler = Hardest(losses=torch.arange(24.0))
        loader, found = made(sampler), []
        for _ in range(3):
            found.append([])
            for batch in loader:
                found[-1] += batch.tolist()
                sampler.losses[batch] -= 7.0  # as the model learns them
        return loader, found

    plain = indices()[1]
    interposition = interpose(num_workers=1)
    loader, found = indices()
    assert loader.num_workers == 0 and found[0] != plain[0]
    reason = told(interposition)["num_workers"]
    assert "losses changed while the loader's batches were used, and for workers the" in reason
    assert interposition.seen.loaders[0].stale in reason


CHANGES = {
    "a list of losses": ([0.0] * 24, lambda s: s.held.__setitem__(3, s.held[3] + 1)),
    "a tensor": (torch.zeros(24), lambda s: s.held.add_(1)),
    "a large array": (np.zeros(1 << 15), lambda s: s.held.__iadd__(1)),
    "losses by index": ({i: 0.0 for i in range(24)}, lambda s: s.held.update({3: s.held[3] + 1})),
    "a level": (1, lambda s: vars(s).update(held=2)),
    "a switch": (False, lambda s: vars(s).update(held=True)),
}


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("sampler", [Own, Batches])
def test_whatever_the_script_changes_in_a_sampler_counts(interpose, kind, sampler):
    held, change = CHANGES[kind]
    interposition = interpose(**KEPT)
    order = sampler(held=held)
    loader = by_sampler(order) if sampler is Own else DataLoader(Rows(), batch_sampler=order)
    for i, _ in enumerate(loader):
        if i == 2:
            change(order)
    assert "sampler.held changed" in told(interposition)["num_workers"]


@pytest.mark.parametrize("n_workers", [1, 2])
def test_what_its_own_iteration_changes_is_no_change(interpose, n_workers):
    interposition = interpose(num_workers=n_workers, persistent_workers=True)
    by_itself = DataLoader(Rows(), batch_sampler=Batches())
    for loader in (by_sampler(Own()), by_own_batches(Own()), by_itself):
        for _ in range(3):
            assert len(list(loader)) == 6
        assert loader.num_workers == n_workers and loader.persistent_workers
    assert interposition.notes == []


def test_nor_is_what_changes_between_two_passes_since_the_order_is_drawn_here(interpose):
    interposition = interpose(**KEPT)
    sampler = Own(epoch=0)
    loader = by_sampler(sampler)
    for sampler.epoch in range(3):
        list(loader)
    assert interposition.notes == [] and loader.persistent_workers


def test_nor_what_a_sampler_of_torchs_own_gets_since_it_decides_at_a_pass_s_begin(interpose):
    interposition = interpose(**KEPT)
    sampler = WeightedRandomSampler([0.5] * 24, 24)
    for loader in (by_sampler(sampler), by_batches(sampler)):
        for _ in range(2):
            for _ in loader:
                sampler.weights[0] += 1.0
    assert interposition.notes == []


def test_nor_what_a_sampler_holds_of_the_dataset_if_it_is_none_there(interpose):
    interposition = interpose(**KEPT)
    rows = Rows()
    loader = DataLoader(rows, 4, sampler=Own(rows=rows, others=Rows()))
    for batch in loader:
        rows.opened = str(batch)
        loader.sampler.others.opened = str(batch)
    assert interposition.notes == []


@pytest.mark.parametrize(("own", "override"), [(1, ()), (0, ["num_workers"])])
def test_the_script_s_own_workers_and_those_that_shall_win_stay(interpose, own, override):
    interposition = interpose(override, num_workers=2)
    sampler = Own(level=0)
    loader = DataLoader(Rows(), 4, sampler=sampler, num_workers=own)
    for _ in range(2):
        for sampler.level, _ in enumerate(loader):
            pass
    assert loader.num_workers == 2 and interposition.notes == []
