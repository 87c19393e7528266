"""Which loader trains, where one gave batches before the first step and another one trains."""

import pytest
import torch
from torch.utils.data import DataLoader

from hotlap.interpose.units import Units

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


@pytest.fixture
def heard(interpose):
    interposition, told = interpose(), Told()
    interposition.listen(Units(told))
    return interposition.seen, told


def train(n=4):
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(n):
        model(torch.ones(2, 1)).sum().backward()
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
    train()
    assert told.begun == [loader] and seen.loaders[0].trains
