"""How many batches and samples a pass has, and that asking for it changes nothing."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, SubsetRandomSampler

from hotlap.training import PassSize, length


class Short(IterableDataset):
    """A stream that says that it is shorter than it is."""

    def __iter__(self):
        return iter(torch.arange(12))

    def __len__(self):
        return 8


class Refuses:
    """A length that cannot be told yet."""

    def __init__(self, error):
        self.error = error

    def __len__(self):
        raise self.error


class Counts:
    """Draws its order to know how long that is."""

    def __init__(self, size=None):
        self.size = size

    def __iter__(self):
        random.random(), np.random.rand()
        order = torch.randperm(8)
        return iter((order if self.size is None else order.view(-1, self.size)).tolist())

    def __len__(self):
        return sum(1 for _ in self)


@pytest.mark.parametrize(
    "way", [{"batch_sampler": Counts(4)}, {"batch_size": 4, "sampler": Counts()}]
)
def test_asking_for_a_length_that_is_drawn_leaves_the_random_numbers_as_they_are(way):
    def numbers():
        return torch.get_rng_state().tolist(), random.getstate(), repr(np.random.get_state())

    before, loader = numbers(), DataLoader(list(range(8)), **way)
    assert PassSize(loader).n_batches == length(loader) == 2
    assert numbers() == before
    len(loader)
    assert numbers() != before


def test_asking_a_stream_for_its_length_warns_nobody_of_batches_beyond_it():
    loader = DataLoader(Short())
    assert length(loader) == 8
    assert PassSize(loader).n_batches == 8
    assert len(list(loader)) == 12  # a warning would be an error here
    len(loader)
    assert length(loader) == 8
    with pytest.warns(UserWarning, match="Length of IterableDataset"):
        list(loader)


@pytest.mark.parametrize("error", [TypeError, ValueError, RuntimeError, KeyError])
def test_what_a_length_of_the_script_s_own_raises_is_no_error_of_its_training(error):
    assert length(Refuses(error("not yet"))) is None
    loader = DataLoader(list(range(8)), batch_sampler=Refuses(error("not yet")))
    assert PassSize(loader).n_batches is None


def test_the_rest_in_a_pass_s_last_batch_counts_as_what_it_is():
    batches = BatchSampler(SubsetRandomSampler(range(10)), 4, False)
    for loader in (
        DataLoader(list(range(10)), 4),
        DataLoader(list(range(99)), batch_sampler=batches),
    ):
        size = PassSize(loader)
        assert [size.of(i, None) for i in range(3)] == [4, 4, 2]
