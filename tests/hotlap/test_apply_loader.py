"""The loader has every loader setting in force, whatever arguments came before."""

import itertools
import os
import subprocess
import sys

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

import hotlap
from hotlap.loading import WorkerInit, arguments
from hotlap.settings import Settings


class Numbers(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor([i, torch.get_num_threads(), get_worker_info() is not None])


def mark(worker_id):
    torch.set_grad_enabled(False)


class Marked(Numbers):
    def __getitem__(self, i):
        return torch.tensor([torch.get_num_threads(), torch.is_grad_enabled()])


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize(
    "own",
    [
        {},
        {"num_workers": 0},
        {"num_workers": 4, "persistent_workers": True, "prefetch_factor": 8, "timeout": 60},
        {"num_workers": 2, "multiprocessing_context": "spawn"},
    ],
)
def test_settings_and_a_script_s_own_arguments_never_clash(num_workers, own):
    settings = Settings(num_workers=num_workers, prefetch_factor=3)
    loader = hotlap.loader(Numbers(), settings, batch_size=2, **own)
    assert type(loader) is DataLoader and loader.num_workers == num_workers
    assert loader.prefetch_factor == (3 if num_workers else None)
    assert loader.persistent_workers is False
    if num_workers == 0:
        assert len(list(loader)) == 4


def test_every_loader_attribute_is_the_setting():
    settings = Settings(
        num_workers=1, prefetch_factor=5, persistent_workers=True, in_order=False,
        multiprocessing_context="forkserver",
    )  # fmt: skip
    loader = hotlap.loader(Numbers(), settings, batch_size=2)
    assert (loader.num_workers, loader.prefetch_factor, loader.persistent_workers) == (1, 5, True)
    assert loader.multiprocessing_context.get_start_method() == "forkserver"
    if hasattr(loader, "in_order"):  # torch 2.6
        assert loader.in_order is False


def test_what_this_machine_cannot_do_is_noted(monkeypatch):
    notes = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    args = arguments(Settings(pin_memory=True), {}, notes)
    assert args["pin_memory"] is True
    assert [note["setting"] for note in notes] == ["pin_memory"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_batches_are_pinned():
    loader = hotlap.loader(Numbers(), Settings(pin_memory=True), batch_size=2)
    assert next(iter(loader)).is_pinned()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_threads_are_seen_in_the_worker_and_the_user_s_own_function_still_runs(method):
    settings = Settings(num_workers=1, worker_threads=2, multiprocessing_context=method)
    notes = []
    loader = hotlap.loader(Marked(), settings, batch_size=8, worker_init_fn=mark, notes=notes)
    # An older torch's OpenMP library cannot be forked with threads; then a note says so.
    n_threads = 1 if method == "fork" and notes else 2
    assert next(iter(loader)).tolist() == 8 * [[n_threads, 0]]
    plain = hotlap.loader(Marked(), Settings(num_workers=1), batch_size=8, worker_init_fn=mark)
    assert plain.worker_init_fn is mark


def test_worker_threads_wrap_the_user_s_function_in_something_that_can_be_pickled():
    import pickle

    again = pickle.loads(pickle.dumps(WorkerInit(3, mark)))
    assert again.n_threads == 3 and again.then is mark


def test_forked_workers_with_threads_do_not_hang_after_parallel_work_in_the_parent():
    # Without the pause of OpenMP's idle threads the worker waits for ever for threads that it
    # does not have; the loader's own timeout then makes this an error.
    code = """
import torch, hotlap
class Products(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i):
        a = torch.ones(400, 400)
        return (a @ a).exp().sum() * 0 + torch.get_num_threads()
settings = hotlap.Settings(num_workers=1, worker_threads=2, multiprocessing_context="fork")
for _ in range(2):
    a = torch.ones(600, 600)
    (a @ a).exp().sum()
    loader = hotlap.loader(Products(), settings, batch_size=2, timeout=60)
    print([batch.shape[0] for batch in loader])
"""
    env = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["[2, 2]", "[2, 2]"]


def test_asking_for_worker_threads_does_not_fix_the_script_s_start_method():
    code = """
import multiprocessing, hotlap
hotlap.loader(list(range(4)), hotlap.Settings(num_workers=1, worker_threads=2), batch_size=2)
multiprocessing.set_start_method("spawn")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_combinations_of_workers_prefetch_and_persistence_give_every_sample():
    for workers, prefetch, persistent in itertools.product((0, 1), (1, 2), (False, True)):
        settings = Settings(
            num_workers=workers, prefetch_factor=prefetch, persistent_workers=persistent
        )
        loader = hotlap.loader(Numbers(), settings, batch_size=4)
        for _ in range(2):
            batches = torch.cat(list(loader))
            assert batches[:, 0].tolist() == list(range(8))
            assert batches[:, 2].tolist() == 8 * [int(workers > 0)]
