"""DataLoaders that come about without `DataLoader.__init__` are heard, and told why not reached."""

import copy
import pickle

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

from hotlap.interpose.reach import reach
from hotlap.training import Units

ROWS = TensorDataset(torch.arange(24.0))
PLAIN = DataLoader(ROWS, 4)
WITH_WORKERS = DataLoader(ROWS, 4, num_workers=1, persistent_workers=True)


class Stateful(DataLoader):
    """Builds itself, and begins its passes by ways of its own, as torchdata's does."""

    def __init__(self, plain):
        vars(self).update(vars(plain))

    def __iter__(self):
        if not self.num_workers:
            return _SingleProcessDataLoaderIter(self)
        if self._iterator is None:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator._reset(self)
        return self._iterator


class Follower:
    def __init__(self):
        self.n_samples = []
        self.loader = None

    def begin(self, loader):
        self.loader = loader

    def done(self, n_samples, loss, batch):
        self.n_samples.append(n_samples)


def train(loader, n_epochs=2):
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for _ in range(n_epochs):
        for (x,) in loader:
            model(x[:, None]).mean().backward()
            optimizer.step()


@pytest.mark.parametrize("plain", [PLAIN, WITH_WORKERS])
def test_a_class_that_builds_itself_is_heard(interpose, plain):
    interposition = interpose(num_workers=0)
    follower = Follower()
    units = Units(follower)
    interposition.listen(units)
    loader = Stateful(plain)
    train(loader)
    (seen,) = interposition.seen.loaders
    assert (seen.name, seen.batch_size, seen.num_workers) == ("Stateful", 4, plain.num_workers)
    assert (seen.n_batches, seen.n_steps, seen.n_iterators) == (12, 12, 2)
    assert seen.where.startswith(__file__) and seen.by_itself
    assert follower.loader is loader and follower.n_samples == [4] * 12
    assert units.taken.n_epochs == 2
    reasons = reach(interposition.seen)
    for name in ("num_workers", "pin_memory"):
        assert "Stateful came about without DataLoader.__init__" in reasons[name]


def pickled(loader):
    return pickle.loads(pickle.dumps(loader))


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_is_as_the_script_made_it_and_is_heard(interpose, way):
    interposition = interpose(num_workers=2, prefetch_factor=4, pin_memory=True)
    twin = way(DataLoader(ROWS, 4, num_workers=1))
    assert (twin.num_workers, twin.prefetch_factor, twin.pin_memory) == (1, 2, False)
    train(twin)
    made, copied = interposition.seen.loaders
    assert (made.n_batches, copied.n_batches, copied.n_steps) == (0, 12, 12)
    assert "without DataLoader.__init__" in reach(interposition.seen)["num_workers"]
