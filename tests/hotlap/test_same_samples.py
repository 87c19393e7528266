"""The same seed gives the same batches, whichever process draws the samples."""

import pickle
import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset, Subset, get_worker_info

import hotlap
from hotlap.fingerprint import fingerprint
from hotlap.same_samples import Seeded, repeatable, repeats_itself


class Augmented(Dataset):
    """Random numbers from all three global generators."""

    offset = 0.0

    def __len__(self):
        return 24

    def __getitem__(self, i):
        return torch.tensor([i, torch.rand(()), np.random.rand(), random.random(), self.offset])


class OwnGenerator(Augmented):
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __getitem__(self, i):
        return torch.tensor([i, self.rng.random()])


class Stream(IterableDataset):
    def __iter__(self):
        return iter(torch.arange(24.0))


def set_offset(worker_id):
    get_worker_info().dataset.offset = 7.0


def work(dataset=None, **changes):
    values = {
        "model": nn.Linear(5, 1),
        "dataset": dataset or Augmented(),
        "loss": lambda model, batch: model(batch).mean(),
        "optimizer": lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.1, **kernel),
        "batch_size": 4,
    }
    return hotlap.Workload(**{**values, **changes})


def two_epochs(workload, **settings):
    applied = hotlap.apply(repeatable(workload, 3), hotlap.Settings(**settings))
    return [fingerprint(batch) for _ in range(2) for batch in applied.loader]


@pytest.mark.parametrize("shuffle", [True, False])
def test_batches_are_the_same_with_any_workers_and_epochs_differ_only_by_their_order(shuffle):
    made = work(shuffle=shuffle)
    alone = two_epochs(made)
    assert len(alone) == 12 and len({b[0] for b in alone}) == (12 if shuffle else 6)
    assert two_epochs(made, num_workers=1) == alone
    assert two_epochs(made, num_workers=2, persistent_workers=True, prefetch_factor=3) == alone
    assert two_epochs(made) == alone


def test_started_anew_workers_draw_the_same():
    made = work()
    assert two_epochs(made, num_workers=1, multiprocessing_context="spawn") == two_epochs(made)


def test_without_it_other_workers_draw_other_numbers():
    def drawn(n):
        torch.manual_seed(0)
        applied = hotlap.apply(work(shuffle=False), hotlap.Settings(num_workers=n))
        return [fingerprint(batch) for batch in applied.loader]

    assert drawn(0) != drawn(2)


def test_each_sample_has_its_own_random_numbers():
    dataset = Seeded(Augmented(), 0)
    assert len({float(dataset[i][1]) for i in range(24)}) == 24


def test_a_dataset_that_draws_whole_batches_is_asked_for_whole_batches():
    made = work(Subset(Augmented(), range(20)))
    assert two_epochs(made, num_workers=2) == two_epochs(made)
    assert repeats_itself(repeatable(made, 0))


def test_the_wrapped_dataset_is_what_a_worker_init_fn_changes():
    made = work(worker_init_fn=set_offset)
    applied = hotlap.apply(repeatable(made, 0), hotlap.Settings(num_workers=1))
    assert all((batch[:, 4] == 7).all() for batch in applied.loader)
    again = pickle.loads(pickle.dumps(Seeded(Augmented(), 5)))
    assert torch.equal(again[3], Seeded(Augmented(), 5)[3])


def test_only_a_dataset_whose_samples_follow_from_index_and_global_numbers_repeats_itself():
    assert repeats_itself(repeatable(work(), 0))
    assert not repeats_itself(repeatable(work(OwnGenerator()), 0))
    assert not repeats_itself(repeatable(work(Stream()), 0))
    own = torch.utils.data.SequentialSampler(range(24))
    assert not repeats_itself(repeatable(work(loader_defaults={"sampler": own}), 0))


def test_the_users_own_sampler_and_stream_stay_as_they_are():
    own = torch.utils.data.SequentialSampler(range(24))
    assert repeatable(work(loader_defaults={"sampler": own}), 0).loader_defaults["sampler"] is own
    made = work(Stream())
    assert repeatable(made, 0) is made
