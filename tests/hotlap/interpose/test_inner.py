"""Loaders that a dataset uses itself: no training data, and as the script made them."""

import copy
import pickle

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from hotlap.interpose.inner import inner
from tests.hotlap.interpose.ears import Ears

ROWS = TensorDataset(torch.arange(24.0)[:, None])
IMPOSED = {"num_workers": 1, "persistent_workers": True, "prefetch_factor": 3}


class Held(Dataset):
    """Goes through a loader of its own for each sample."""

    def __init__(self, **own):
        self.inner = DataLoader(ROWS, 4, **own)

    def __len__(self):
        return 24

    def __getitem__(self, i):
        for (x,) in self.inner:
            return x[0] + i


class Anew(Held):
    """Makes that loader anew."""

    def __getitem__(self, i):
        (x,) = next(iter(DataLoader(ROWS, 4)))
        return x[0] + i


class Stream(IterableDataset):
    """Gives what a loader of its own gives."""

    def __init__(self):
        self.inner = DataLoader(ROWS, 1)

    def __iter__(self):
        return iter(self.inner)


def collated(samples):
    return torch.stack([x for (x,) in DataLoader(TensorDataset(torch.stack(samples)), 1)])


def as_made(loader):
    attributes = vars(loader).items()
    return {name: value for name, value in attributes if isinstance(value, (int, type(None)))}


OUTER = {
    "held": lambda: DataLoader(Held(), 6),
    "anew": lambda: DataLoader(Anew(), 6),
    "stream": lambda: DataLoader(
        Stream(), 6, collate_fn=lambda rows: torch.stack([x for (x,) in rows])
    ),
    "collate": lambda: DataLoader(Held(), 6, collate_fn=collated),
}


@pytest.mark.parametrize("kind", OUTER)
@pytest.mark.parametrize("settings", [{}, IMPOSED])
def test_only_the_outer_loaders_batches_count_and_they_are_the_plain_ones(
    interpose, kind, settings
):
    plain = [batch.flatten().tolist() for batch in OUTER[kind]()]
    interposition, ears = interpose(**settings), Ears()
    interposition._loaders.listener = ears
    loader = OUTER[kind]()
    assert [batch.flatten().tolist() for batch in loader] == plain
    assert loader.num_workers == (0 if kind == "stream" else settings.get("num_workers", 0))
    assert ears.given == [6] * 4
    batches = {one.batch_size: one.n_batches for one in interposition.seen.loaders}
    assert batches.pop(6) == 4 and not any(batches.values())


def test_no_step_follows_their_batches(interpose):
    seen = interpose().seen
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in DataLoader(Held(), 6):
        model(x.flatten(1)).sum().backward()
        optimizer.step()
    (trains,) = seen.training_loaders
    assert (trains.batch_size, trains.n_steps, trains.steps_per_batch) == (6, 4, 1)


@pytest.mark.parametrize(
    ("own", "num_workers"),
    [({}, 1), ({"num_workers": 1, "timeout": 60}, 0), ({"num_workers": 1}, 2)],
)
def test_they_are_as_the_script_made_them(interpose, own, num_workers):
    plain = as_made(Held(**own).inner)
    settings = {"num_workers": num_workers, "persistent_workers": num_workers > 0}
    seen = interpose(pin_memory=True, **settings).seen
    dataset, outer = Held(**own), DataLoader(ROWS)
    assert as_made(dataset.inner) != plain
    with inner.of(outer):
        assert as_made(pickle.loads(pickle.dumps(dataset)).inner) == plain
        list(dataset.inner)
    assert as_made(dataset.inner) == plain and seen.loaders[0].imposed == {}


def test_one_that_the_script_uses_itself_is_copied_as_the_script_made_it(interpose):
    interpose(num_workers=1)
    loader = DataLoader(ROWS, 4)
    for twin in (copy.copy(loader), pickle.loads(pickle.dumps(loader))):
        assert twin.num_workers == 0  # nobody would watch them


SCRIPT = """
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

class Nested(Dataset):
    def __init__(self):
        self.inner = DataLoader(TensorDataset(torch.ones(8, 4)), 2)
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return next(iter(self.inner))[0][0]

if __name__ == "__main__":
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Nested(), 4, num_workers=OWN, multiprocessing_context=METHOD)
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
    print(loader.num_workers)
"""


@pytest.mark.parametrize(
    ("own", "method"), [(0, None), pytest.param(1, "spawn", marks=pytest.mark.slow)]
)
def test_workers_have_no_workers_of_their_own_in_a_full_run(runs, own, method):
    runs.file("train.py", SCRIPT.replace("OWN", str(own)).replace("METHOD", repr(method)))
    done = runs.hotlap("settings: {num_workers: 2}\n", "train.py")
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


DAEMONIC = """
import multiprocessing, torch
from torch.utils.data import DataLoader, TensorDataset

def train():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x,) in loader:
        model(x).sum().backward()
        optimizer.step()
    print(len(list(DataLoader(loader.dataset, 8))), flush=True)

loader = DataLoader(TensorDataset(torch.ones(8, 4)), 4)
child = multiprocessing.get_context("fork").Process(target=train, daemon=True)
child.start()
child.join()
print(child.exitcode)
"""


def test_a_daemonic_process_trains_as_the_script_has_it(runs):
    runs.file("train.py", DAEMONIC)
    done = runs.hotlap("settings: {num_workers: 1}\n", "train.py")
    assert done.stdout == "1\n0\n", done.stderr
