"""Which loader trains: before the first step, and when it is asked for nothing more."""

import itertools

import pytest
import torch
from torch.utils.data import DataLoader

from hotlap.training import Units
from hotlap.training.first_optimizer import MOVED_ON

ROWS = torch.arange(24.0)[:, None]


class Told:
    """Follows units, and remembers what they were about."""

    def __init__(self):
        self.begun = []
        self.n_samples = []

    def begin(self, loader):
        self.begun.append(loader)

    def done(self, n_samples, loss, batch):
        self.n_samples.append(n_samples)

    def moved_on(self, seen):
        raise AssertionError(seen)

    def steps_on(self):
        pass

    def alone(self):
        self.begun.append("alone")


@pytest.fixture
def heard(interpose):
    interposition, told = interpose(), Told()
    interposition.listen(Units(told))
    return interposition.seen, told


def train(n=4, batches=()):
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in itertools.islice(batches or itertools.repeat(torch.ones(2, 1)), n):
        model(x).sum().backward()
        optimizer.step()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_an_evaluation_first_and_own_batches_then(heard, mode, whole):
    seen, told = heard
    with mode():
        for _ in DataLoader(ROWS, 4):
            if not whole:
                break
    train()
    assert told.begun == [None] and told.n_samples == [1] * 4
    assert seen.training_loaders == []


def test_batches_that_are_fetched_without_gradients_and_trained_on(heard):
    seen, told = heard
    loader = DataLoader(ROWS, 4)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.no_grad():
        for _ in DataLoader(ROWS, 3):
            pass
        for x in loader:
            with torch.enable_grad():
                model(x).sum().backward()
            optimizer.step()
    assert told.begun == [loader] and told.n_samples == [4] * 6
    assert [one.batch_size for one in seen.training_loaders] == [4]


def test_all_batches_fetched_first_and_trained_on_then(heard):
    seen, told = heard
    loader = DataLoader(ROWS, 4)
    batches = list(loader)
    assert len(batches) == 6
    train(MOVED_ON + 3, itertools.cycle(batches))
    assert told.begun == [loader, "alone"] and seen.loaders[0].trains
    assert told.n_samples == [4, 1, 1, 1]


def test_one_batch_for_good(heard):
    _, told = heard
    loader = DataLoader(ROWS, 24)
    train(MOVED_ON + 3, itertools.repeat(next(iter(loader))))
    assert told.begun == [loader, "alone"] and told.n_samples == [24, 1, 1, 1]


@pytest.mark.parametrize("n_workers", [0, 1])
def test_one_batch_for_good_of_a_loader_that_keeps_its_workers(heard, n_workers):
    _, told = heard
    loader = DataLoader(ROWS, 24, num_workers=n_workers, persistent_workers=n_workers > 0)
    train(MOVED_ON + 3, itertools.repeat(next(iter(loader))))
    assert told.begun == [loader, "alone"] and told.n_samples == [24, 1, 1, 1]


@pytest.mark.parametrize("keeps", [False, True])
def test_many_steps_on_each_batch_of_a_pass(heard, keeps):
    _, told = heard
    loader = DataLoader(ROWS, 4, num_workers=int(keeps), persistent_workers=keeps)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        for _ in range(2 * MOVED_ON):
            model(x).sum().backward()
            optimizer.step()
    assert told.begun == [loader] and told.n_samples == [4] * 6


def test_the_batches_of_a_first_pass_again_and_again(heard):
    _, told = heard
    loader = DataLoader(ROWS, 4)
    train(6 + MOVED_ON + 3, itertools.cycle(loader))
    assert told.begun == [loader, "alone"]
    assert told.n_samples == [4] * 10  # as before a step has four


def test_an_order_without_an_end_has_no_epochs(interpose):
    class Again:
        def __init__(self, order):
            self.order = order

        def __iter__(self):
            while True:
                yield from self.order

    class Endless(DataLoader):
        def __init__(self, *args):
            super().__init__(*args)
            object.__setattr__(self, "batch_sampler", Again(self.batch_sampler))
            self.iterator = super().__iter__()

        def __len__(self):
            return len(self.batch_sampler.order)

        def __iter__(self):
            return itertools.islice(self.iterator, len(self))

    interposition, told = interpose(), Told()
    units = Units(told)
    interposition.listen(units)
    loader = Endless(ROWS, 4)
    train(3, loader)
    assert told.begun == [loader]
    assert units.taken.endless and units.taken.n_epoch_steps == 6
    train(15, itertools.chain(loader, loader))
    assert units.taken.n_epochs == 1 and told.n_samples == [4] * (len(told.n_samples))


def test_a_listener_that_tells_units_does_not_count_as_a_second_pass(interpose):
    interposition = interpose(num_workers=1, persistent_workers=True)
    units = Units(Told())
    interposition.listen(units)
    loader = DataLoader(ROWS, 4)
    for _ in range(3):
        for _ in loader:
            break
    assert units.taken.n_ready() is not None
    assert interposition.notes == []
