"""What loading in another way would change in what is trained, seen with real loaders."""

import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, get_worker_info

import hotlap
from hotlap.inspect_data import data_facts, dataset_changes, own_generator, stream_sharing


class Stream(IterableDataset):
    """Repeats itself in every worker."""

    def __init__(self, n=200):
        self.n = n

    def __iter__(self):
        for i in range(self.n):
            yield torch.full((4,), float(i)), i


class RoundRobin(Stream):
    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for i in range(first, self.n, step):
            yield torch.full((4,), float(i)), i


class Halves(Stream):
    """Does not share by itself: a worker_init_fn does it, as torch's own example."""

    start, end = 0, 2000

    def __iter__(self):
        return iter(range(self.start, self.end))


def take_a_half(worker_id):
    info = get_worker_info()
    size = info.dataset.end // info.num_workers
    info.dataset.start, info.dataset.end = worker_id * size, (worker_id + 1) * size


class ShuffledStream(Stream):
    """Every worker gives all of it, in an order that its global random numbers decide."""

    def __iter__(self):
        order = list(range(self.n))
        random.shuffle(order)
        return iter(order)


class SeededByWorker(Stream):
    """Gives all of it in every worker, in another order in each."""

    def __iter__(self):
        info = get_worker_info()
        order = list(range(self.n))
        random.Random(info.id if info else 7).shuffle(order)
        return iter(order)


class Noise(Stream):
    def __iter__(self):
        for _ in range(self.n):
            yield torch.randn(3)


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.full((4,), float(i)), i


class Curriculum(Rows):
    epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __getitem__(self, i):
        return torch.full((4,), float(self.epoch)), i


class Counting(Rows):
    def __init__(self):
        self.n_drawn = 0
        self.cache = {}

    def __getitem__(self, i):
        self.n_drawn += 1
        return super().__getitem__(i)


class Caching(Rows):
    def __init__(self):
        self.file = None
        self.cache = {}

    def __getitem__(self, i):
        self.file = self.file or object()
        return self.cache.setdefault(i, super().__getitem__(i))


class OwnGenerator(Rows):
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __getitem__(self, i):
        return torch.tensor(self.rng.random()), i


class GlobalNumpy(Rows):
    def __getitem__(self, i):
        return torch.tensor(np.random.rand()), i


def work(dataset, **changes):
    values = {
        "model": nn.Linear(4, 1),
        "dataset": dataset,
        "loss": lambda model, batch: model(batch[0]).mean(),
        "optimizer": lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.1, **kernel),
        "batch_size": 4,
    }
    return hotlap.Workload(**{**values, **changes})


def facts_of(made):
    return data_facts(made, DataLoader(made.dataset, made.batch_size))


@pytest.mark.parametrize(
    ("stream", "init", "answer"),
    [
        (Stream(200), None, "repeated"),
        (Stream(2000), None, "repeated"),
        (RoundRobin(200), None, "shared"),
        (RoundRobin(2000), None, "shared"),
        (Halves(), take_a_half, "shared"),
        (Halves(), None, "repeated"),
        (ShuffledStream(200), None, "repeated"),
        (ShuffledStream(2000), None, "repeated"),
        (SeededByWorker(200), None, "repeated"),
        (SeededByWorker(2000), None, "unknown"),
        (Noise(100000), None, "unknown"),
        (Noise(100), None, "repeated"),
    ],
)
def test_a_stream_is_shared_only_if_two_workers_prove_it(stream, init, answer):
    assert stream_sharing(work(stream, worker_init_fn=init)) == answer


def test_two_workers_really_give_a_stream_twice():
    assert len(list(DataLoader(Stream(20), batch_size=10, num_workers=2))) == 4
    assert len(list(DataLoader(RoundRobin(20), batch_size=10, num_workers=2))) == 2


def test_persistent_workers_do_not_see_what_set_epoch_changes():
    def second_epoch(persistent):
        dataset = Curriculum()
        loader = DataLoader(dataset, batch_size=8, num_workers=1, persistent_workers=persistent)
        list(loader)
        dataset.set_epoch(1)
        return float(next(iter(loader))[0][0, 0])

    assert second_epoch(persistent=False) == 1
    assert second_epoch(persistent=True) == 0  # so it has to be found:
    assert dataset_changes(DataLoader(Curriculum())) == "dataset has a method set_epoch"
    assert (
        dataset_changes(DataLoader(Subset(Curriculum(), [0, 1])))
        == "dataset.dataset has a method set_epoch"
    )


def test_a_dataset_that_counts_changes_and_one_that_opens_files_and_keeps_samples_does_not():
    found = [dataset_changes(DataLoader(one())) for one in (Counting, Caching, Rows, Stream)]
    assert found == ["dataset.n_drawn changes when a sample is drawn", "", "", ""]


class ByName(Counting):
    """Its samples have names; it has no length, and no sample 0."""

    __len__ = None

    def __getitem__(self, name):
        return super().__getitem__({"a": 0, "b": 1}[name])


def test_samples_are_drawn_in_the_loader_s_own_order_and_a_failure_tells_nothing():
    assert "n_drawn changes" in dataset_changes(DataLoader(ByName(), 2, sampler=["a", "b"]))
    assert dataset_changes(DataLoader(ByName(), 2, sampler=["no such"])) == ""


class OneProcess(Stream):
    def __iter__(self):
        assert get_worker_info() is None, "this stream is read in one process"
        return super().__iter__()


def test_a_stream_that_refuses_workers_is_no_failure():
    assert stream_sharing(work(OneProcess())) == "unknown"


def test_workers_copy_a_datasets_own_generator_and_seed_the_global_ones():
    def twice_in_an_epoch(dataset):
        loader = DataLoader(dataset, batch_size=4, num_workers=2)
        first, second = (batch[0] for batch in loader)
        return torch.equal(first, second), torch.equal(first, next(iter(loader))[0])

    assert twice_in_an_epoch(OwnGenerator()) == (True, True)
    assert twice_in_an_epoch(GlobalNumpy()) == (False, False)
    assert own_generator(Subset(OwnGenerator(), [0])) == "dataset.dataset.rng"
    assert own_generator(GlobalNumpy()) == ""


def test_an_order_that_means_something_is_found():
    sampler = torch.utils.data.SequentialSampler(range(8))
    orders = {
        "": work(Rows()),
        "the workload does not shuffle": work(Rows(), shuffle=False),
        "the workload brings its own sampler": work(Rows(), loader_defaults={"sampler": sampler}),
    }
    for why, made in orders.items():
        assert facts_of(made)["fixed_order"] == why
    assert "stream" in facts_of(work(RoundRobin()))["fixed_order"]


def test_the_facts_of_a_plain_dataset_say_nothing():
    assert set(facts_of(work(Rows())).values()) == {""}
