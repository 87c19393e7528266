"""Imposed workers are given up where they would change what a script trains, and it is told."""

import os
import warnings

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, Subset

from hotlap.interpose.state import has_epochs

KEPT = {"num_workers": 1, "persistent_workers": True}


class Rows(Dataset):
    def __init__(self, n=8):
        self.n = n
        self.epoch = 0
        self.cache = {}

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.cache[i] = [i]
        return torch.tensor(self.epoch)


class Epochs(Rows):
    def set_epoch(self, epoch):
        self.epoch = epoch


class Counting(Rows):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __getitem__(self, i):
        self.seen.append(i)
        return super().__getitem__(i)


class Weighing(Rows):
    def __init__(self):
        super().__init__()
        self.n_drawn = torch.zeros(8)

    def __getitem__(self, i):
        self.n_drawn[i] += 1
        return super().__getitem__(i)


class OwnNumbers(Rows):
    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(0)

    def __getitem__(self, i):
        return self.rng.random()


class Broken(Rows):
    def __getitem__(self, i):
        os.write(1, b"told")
        raise KeyError(i)


def told(interposition):
    return {note["setting"]: note["reason"] for note in interposition.notes}


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: Subset(rows, range(8))])
def test_workers_see_what_the_script_changes_between_epochs(interpose, wrap):
    interposition = interpose(**KEPT)
    rows = Rows()
    loader = DataLoader(wrap(rows), 4)
    found = []
    for rows.epoch in range(3):
        found += [int(batch[0]) for batch in loader]
    assert found == [0, 0, 1, 1, 2, 2]
    assert loader.num_workers == 1 and not loader.persistent_workers
    assert "epoch changed between two passes" in told(interposition)["persistent_workers"]


def test_workers_are_kept_where_nothing_changes(interpose):
    interposition = interpose(**KEPT)
    loader = DataLoader(Rows(), 4)
    pids = []
    for _ in range(3):
        list(loader)
        pids.append([worker.pid for worker in loader._iterator._workers])
    assert pids[0] == pids[1] == pids[2] and interposition.notes == []


def test_a_dataset_with_set_epoch_has_no_kept_workers(interpose):
    interposition = interpose(**KEPT)
    loader = DataLoader(Subset(Epochs(), range(8)), 4)
    assert len(list(loader)) == 2 and not loader.persistent_workers
    assert "has a method set_epoch" in told(interposition)["persistent_workers"]
    assert has_epochs(Subset(Epochs(), [])) == "dataset.dataset" and not has_epochs(Rows())


@pytest.mark.parametrize(
    ("kind", "place"),
    [(Counting, "dataset.seen"), (Weighing, "dataset.n_drawn"), (OwnNumbers, "dataset.rng")],
)
def test_a_dataset_that_changes_as_it_is_read_is_read_without_workers(interpose, kind, place):
    interposition = interpose(**KEPT)
    rows = kind()
    loader = DataLoader(rows, 4)
    list(loader)
    assert loader.num_workers == 0
    assert f"{place} changes when a sample is drawn" in told(interposition)["num_workers"]
    if kind is Counting:
        assert rows.seen == list(range(8))  # and not those that were drawn to find out
    assert interposition.seen.loaders[0].imposed == {}


def test_the_script_s_own_workers_stay_whatever_its_dataset_does(interpose):
    interpose(num_workers=2)
    loader = DataLoader(Counting(), 4, num_workers=1)
    list(loader)
    assert loader.num_workers == 2


def test_a_change_while_batches_are_used_ends_workers_with_the_next_pass(interpose):
    interposition = interpose(**KEPT)
    rows = Rows()
    loader = DataLoader(rows, 4)
    found = []
    for _ in range(2):
        for batch in loader:
            found.append(int(batch[0]))
            rows.epoch += 1
    assert found == [0, 0, 2, 3]
    assert list(told(interposition)) == ["num_workers"]


def test_looking_at_a_dataset_that_cannot_be_read_says_and_changes_nothing(interpose, capfd):
    interpose(num_workers=1)
    before = torch.get_rng_state()
    with pytest.raises(KeyError), warnings.catch_warnings():
        warnings.simplefilter("error")
        next(iter(DataLoader(Broken(4), 4)))
    assert capfd.readouterr().out.count("told") == 1  # by the worker, not by the look
    assert not torch.equal(torch.get_rng_state(), before)  # the seed of the pass, as ever


def test_a_loader_made_anew_takes_the_kept_workers_place(interpose):
    interpose(**KEPT)
    loaders = []
    for _ in range(3):
        loaders.append(DataLoader(Rows(), 4))
        list(loaders[-1])
    assert [loader._iterator is None for loader in loaders] == [True, True, False]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_forked_process_does_not_end_its_parent_s_kept_workers(runs):
    runs.file(
        "script.py",
        "import os, sys, torch\n"
        "rows = torch.utils.data.TensorDataset(torch.ones(4, 2))\n"
        "loader = torch.utils.data.DataLoader(rows, 2)\n"
        "list(loader)\n"
        "if os.fork() == 0: sys.exit(3)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]), len(list(loader)))\n",
    )
    done = runs.hotlap("settings: {num_workers: 1, persistent_workers: true}\n", "script.py")
    assert (done.stdout, done.stderr) == ("3 2\n", "")


SPAWN = "settings: {num_workers: 1, multiprocessing_context: spawn}\n"
PLAIN = "settings: {num_workers: 1}\n"
LAMBDA = "rows.f = lambda: 0"
OWN = "torch.multiprocessing.set_start_method('spawn')"
HEAD = "import torch\nrows = torch.utils.data.TensorDataset(torch.ones(4, 2))\n"
PASS = "loader = torch.utils.data.DataLoader(rows, 2); n = len(list(loader))\n"
LAST = "print('end', n, loader.num_workers, loader.multiprocessing_context)\n"
GUARDED = f"{HEAD}if __name__ == '__main__':\n    {{0}}\n    {PASS}    {LAST}"
CLASS = f"{HEAD}class T:\n    def fit(self):\n        {PASS}        {LAST}{{0}}\nT().fit()\n"


@pytest.mark.parametrize(
    ("settings", "text", "line", "end", "reason"),
    [
        (SPAWN, CLASS, "", "end 2 1 None", "works at module level"),
        (PLAIN, CLASS, OWN, "end 2 0 None", "works at module level"),
        (SPAWN, GUARDED, LAMBDA, "end 2 1 None", "dataset (TensorDataset) cannot be pickled"),
        (PLAIN, GUARDED, f"{OWN}; {LAMBDA}", "end 2 0 None", "cannot be pickled"),
        (PLAIN, GUARDED, OWN, "end 2 1 None", ""),
    ],
)
def test_workers_that_could_not_begin_anew_are_not_imposed(runs, settings, text, line, end, reason):
    runs.file("script.py", text.format(line))
    done = runs.hotlap(settings, "script.py")
    assert done.stdout == f"{end}\n" and done.returncode == 0, done.stderr
    assert reason in done.stderr and bool(reason) == bool(done.stderr)


def test_a_module_that_trains_is_imported_anew_too(runs):
    runs.file("package/__init__.py", "")
    runs.file("package/train.py", CLASS.format(""))
    done = runs.hotlap(SPAWN, "-m", "package.train")
    assert done.stdout == "end 2 1 None\n" and "works at module level" in done.stderr
