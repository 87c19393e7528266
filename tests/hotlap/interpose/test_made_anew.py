"""Loaders that a library makes anew from another one's attributes have every safeguard, too."""

import copy
import inspect
import os

import pytest
import torch
from torch.utils.data import DataLoader, SequentialSampler

from tests.hotlap.interpose.test_workers import KEPT, Counting, Epochs, Rows, told

KNOWS_ORDER = pytest.mark.skipif(
    "in_order" not in inspect.signature(DataLoader.__init__).parameters, reason="torch is too old"
)

SIGNATURE = inspect.signature(DataLoader.__init__).parameters
BY_BATCHES = ("self", "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "drop_last")
TAKEN = [name for name in SIGNATURE if name not in BY_BATCHES]


def by_batches(old):
    """As accelerate's `prepare`: all that does not say which samples a batch has."""
    taken = {name: getattr(old, name) for name in TAKEN}
    return DataLoader(old.dataset, batch_sampler=old.batch_sampler, **taken)


def by_differences(old):
    """As Lightning: what is not the constructor's default, in another order perhaps."""
    found = {name: getattr(old, name) for name in (*TAKEN, "batch_size", "drop_last")}
    taken = {k: v for k, v in found.items() if v is not SIGNATURE[k].default}
    return DataLoader(old.dataset, sampler=old.sampler, **taken)


def by_an_older_list(old):
    """As an accelerate that knows fewer arguments than torch has."""
    taken = {n: getattr(old, n) for n in TAKEN if n not in ("in_order", "persistent_workers")}
    return DataLoader(old.dataset, batch_sampler=old.batch_sampler, **taken)


ways = pytest.mark.parametrize("anew", [by_batches, by_differences, by_an_older_list])


@ways
def test_they_are_as_the_script_made_the_first_one(interpose, anew):
    seen = interpose(prefetch_factor=3, **KEPT).seen
    loader = anew(anew(DataLoader(Rows(), 4)))
    assert (loader.num_workers, loader.persistent_workers, loader.prefetch_factor) == (1, True, 3)
    assert [one.num_workers for one in seen.loaders] == [0] * len(seen.loaders)
    assert all(one.imposed["num_workers"] == 1 for one in seen.loaders)
    twin = copy.copy(loader)
    assert (twin.num_workers, twin.persistent_workers, twin.prefetch_factor) == (0, False, None)


@ways
def test_a_dataset_that_changes_as_it_is_read_is_read_without_workers(interpose, anew):
    interposition = interpose(**KEPT)
    rows = Counting()
    loader = anew(DataLoader(rows, 4))
    list(loader)
    assert loader.num_workers == 0 and rows.seen == list(range(8))
    assert "changes when a sample is drawn" in told(interposition)["num_workers"]


@ways
def test_a_change_while_batches_are_used_ends_workers_with_the_next_pass(interpose, anew):
    interposition = interpose(**KEPT)
    rows = Rows()
    loader = anew(DataLoader(rows, 4))
    found = []
    for _ in range(2):
        for batch in loader:
            found.append(int(batch[0]))
            rows.epoch += 1
    assert found == [0, 0, 2, 3] and list(told(interposition)) == ["num_workers"]


@ways
def test_a_dataset_with_set_epoch_has_no_kept_workers(interpose, anew):
    interpose(**KEPT)
    rows = Epochs()
    loader = anew(DataLoader(rows, 4))
    found = []
    for epoch in range(2):
        rows.set_epoch(epoch)
        found += [int(batch[0]) for batch in loader]
    assert found == [0, 0, 1, 1] and not loader.persistent_workers


@ways
def test_two_passes_at_once_have_an_iterator_each(interpose, anew):
    interpose(**KEPT)
    loader = anew(DataLoader([torch.tensor(i) for i in range(8)], 4))
    assert [(int(a[0]), int(b[0])) for a, b in zip(loader, loader, strict=True)] == [(0, 0), (4, 4)]


@ways
def test_the_random_numbers_between_epochs_are_the_plain_script_s(interpose, anew):
    def numbers():
        torch.manual_seed(0)
        loader = anew(DataLoader([torch.tensor(i) for i in range(8)], 4, shuffle=True))
        return [[batch.tolist() for batch in loader] + [torch.rand(1)] for _ in range(3)]

    plain = numbers()
    interpose(**KEPT)
    assert numbers() == plain


@ways
def test_of_those_made_at_one_line_the_last_one_keeps_its_workers(interpose, anew):
    interpose(**KEPT)
    loaders = []
    for _ in range(3):
        loaders.append(anew(DataLoader(Rows(), 4)))
        list(loaders[-1])
    assert [loader._iterator is None for loader in loaders] == [True, True, False]


@ways
def test_the_script_s_own_thread_count_of_workers_comes_after_ours_once(interpose, anew):
    interpose(num_workers=1, worker_threads=2, multiprocessing_context="spawn")
    loader = anew(DataLoader(Rows(), 4))
    assert loader.worker_init_fn.n_threads == 2 and loader.worker_init_fn.then is None


@KNOWS_ORDER
def test_an_imposed_argument_that_is_not_handed_on_contradicts_nothing(interpose):
    interposition = interpose(in_order=False, **KEPT)
    loader = by_an_older_list(DataLoader(Counting(), 4, shuffle=True))
    assert (loader.num_workers, loader.persistent_workers, loader.in_order) == (1, True, False)
    list(loader)
    assert loader.num_workers == 0 and interposition.seen.loaders[-1].num_workers == 0
    assert "changes when a sample is drawn" in told(interposition)["num_workers"]


def test_what_is_not_handed_on_is_not_taken_from_the_first_one(interpose):
    interpose(num_workers=1, worker_threads=2, multiprocessing_context="spawn")
    rows, own = Rows(), print
    first = DataLoader(rows, 4, worker_init_fn=own)
    anew = DataLoader(rows, 4, num_workers=first.num_workers)
    assert first.worker_init_fn.then is own and anew.worker_init_fn.then is None


@KNOWS_ORDER
def test_in_another_order_they_have_what_that_order_needs(interpose):
    interpose(num_workers=1, in_order=False)
    first = DataLoader(Rows(), 4, shuffle=True)
    taken = {name: getattr(first, name) for name in TAKEN}
    ordered = DataLoader(first.dataset, 4, sampler=SequentialSampler(first.dataset), **taken)
    assert not first.in_order and ordered.in_order


def test_workers_that_the_script_itself_gives_another_dataset_stay_its_own(interpose):
    seen = interpose(**KEPT).seen
    DataLoader(Rows(), 4)
    own = DataLoader(Counting(), 4, num_workers=1)
    list(own)
    assert own.num_workers == 1 and seen.loaders[1].num_workers == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_one_made_anew_in_a_process_that_may_have_none_has_no_workers(interpose):
    interpose(num_workers=1)
    first = DataLoader(Rows(), 4)
    context = torch.multiprocessing.get_context("fork")
    read, write = context.Pipe(duplex=False)
    process = context.Process(target=lambda: write.send(by_batches(first).num_workers), daemon=True)
    process.start()
    process.join()
    assert read.recv() == 0
