"""Loaders that one function makes are one, and two where they are open at the same time."""

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler

from hotlap.training import Units
from tests.hotlap.training.test_training_loader import Told

DAY, NIGHT = torch.arange(24.0)[:, None], -torch.arange(24.0)[:, None]


def make(rows):
    return DataLoader(rows, 4, shuffle=True)


def forever(loader):
    while True:
        yield from loader


class Trained:
    """A model that is trained on batches, and who hears of it."""

    def __init__(self, interposition):
        self.model = torch.nn.Linear(1, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.seen, self.told = interposition.seen, Told()
        self.units = Units(self.told)
        interposition.listen(self.units)

    def step(self, *batches):
        sum(self.model(x).sum() for x in batches).backward()
        self.optimizer.step()


@pytest.fixture
def trained(interpose):
    return Trained(interpose())


@pytest.mark.parametrize("anew", [False, True])
def test_two_that_are_gone_through_together(trained, anew):
    loaders = make(DAY), make(NIGHT)
    for _ in range(3):
        for x, y in zip(*((make(DAY), make(NIGHT)) if anew else loaders), strict=False):
            trained.step(x, y)
    first, second = trained.seen.loaders
    assert (first.n_iterators, first.n_batches, first.n_steps) == (3, 18, 15)
    assert (second.n_iterators, second.n_batches, second.n_steps) == (3, 18, 18)
    assert trained.told.n_samples == [4, *[8] * 16]
    taken = trained.units.taken
    assert (taken.n_epochs, taken.n_epoch_steps, taken.endless) == (3, 6, False)


def test_two_that_begin_by_themselves_again_and_again(trained):
    day, night = forever(make(DAY)), forever(make(NIGHT))
    for _ in range(18):
        trained.step(next(day), next(night))
    assert [one.n_batches for one in trained.seen.loaders] == [18, 18]
    assert trained.told.n_samples[:6] == [4, *[8] * 5]
    taken = trained.units.taken
    assert (taken.n_epochs, taken.n_epoch_steps, taken.endless) == (3, 6, False)


def test_each_of_the_two_keeps_its_workers(interpose):
    interposition = interpose(num_workers=1, persistent_workers=True)
    loaders, pids = (make(DAY), make(NIGHT)), []
    for _ in range(3):
        assert len(list(zip(*loaders, strict=True))) == 6
        pids.append([loader._iterator._workers[0].pid for loader in loaders])
    assert pids[0] == pids[1] == pids[2] and interposition.notes == []


@pytest.mark.parametrize("n_workers", [0, 1])
def test_one_that_takes_the_place_of_a_pass_that_is_given_up_is_the_same(interpose, n_workers):
    interposition = interpose(num_workers=n_workers, persistent_workers=n_workers > 0)
    trained = Trained(interposition)
    loaders = []
    for _ in range(4):
        loaders.append(make(DAY))
        batches = iter(loaders[-1])  # the one before goes only now
        for _ in range(2):
            trained.step(next(batches))
    (one,) = trained.seen.loaders
    assert (one.n_iterators, one.n_batches, one.n_steps) == (4, 8, 8)
    assert trained.told.n_samples == [4] * 7 and trained.units.taken.n_epochs == 4
    if n_workers:
        assert [loader._iterator is None for loader in loaders] == [True, True, True, False]


def test_an_evaluation_of_the_same_make_within_an_epoch(trained):
    for i, x in enumerate(make(DAY)):
        trained.step(x)
        if i == 2:
            for y in make(NIGHT):
                trained.model(y)
    assert [one.trains for one in trained.seen.loaders] == [True, False]
    assert trained.told.n_samples == [4] * 6 and trained.units.taken.n_epochs == 1


class Trainer(Trained):
    """Makes all loaders at one line and evaluates within an epoch, as Hugging Face's does."""

    def loader(self, rows, batch_size, sampler):
        return DataLoader(rows, batch_sampler=BatchSampler(sampler(rows), batch_size, False))

    def train(self, n_epochs):
        loader = self.loader(DAY[:22], 4, RandomSampler)
        for _ in range(n_epochs):
            for i, x in enumerate(loader):
                self.step(x)
                if i in (1, 3):
                    self.evaluate()

    def evaluate(self):
        for x in self.loader(NIGHT, 16, SequentialSampler):
            with torch.no_grad():
                self.model(x)


def test_a_trainer_that_evaluates_within_an_epoch(interpose):
    trainer = Trainer(interpose())
    trainer.train(2)
    first, second = trainer.seen.loaders
    assert (first.sampler, first.batch_size, first.n_batches) == ("RandomSampler", 4, 12)
    assert (second.sampler, second.batch_size, second.n_batches) == ("SequentialSampler", 16, 8)
    assert trainer.told.n_samples == [4, 4, 4, 4, 4, 2] * 2
    assert trainer.units.taken.n_epochs == 2 and not trainer.units.taken.endless
