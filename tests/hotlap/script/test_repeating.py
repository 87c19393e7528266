"""Batches of two runs of a script: which have to be the same, and which are so."""

import itertools

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, TensorDataset

from hotlap.script.repeating import repeats
from tests.hotlap.script.script_texts import TRAINING

TRAIN = TRAINING.replace("nn.Tanh()", "nn.Tanh(), nn.Dropout(0.5)") + "train(100)"


class Rows(Dataset):
    def __init__(self):
        self.n_drawn = 0
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor(float(i))


class Rarely(Rows):
    def __getitem__(self, i):
        return super().__getitem__(i) + (torch.rand(()) < 1e-6)


class RarelyNumpy(Rows):
    def __getitem__(self, i):
        return super().__getitem__(i) + (np.random.rand() < 1e-6)


class RarelyOwn(Rows):
    def __getitem__(self, i):
        return super().__getitem__(i) + (self.rng.random() < 1e-6)


class Counting(Rows):
    def __getitem__(self, i):
        self.n_drawn += 1
        return super().__getitem__(i)


class Fails(Rows):
    def __getitem__(self, i):
        raise KeyError(i)


class Batches(Rows):
    def __getitems__(self, indices):
        return [torch.tensor(float(i)) for i in indices]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(8))


class OwnOrder(Sampler):
    def __len__(self):
        return 8

    def __iter__(self):
        return itertools.islice(np.random.permutation(8), 8)


class Noise:
    def __call__(self, samples):
        return torch.stack(samples) + torch.randn(())


@pytest.mark.parametrize(
    ("loader", "answer"),
    [
        (DataLoader(Rows(), 4), True),
        (DataLoader(Rows(), 4, shuffle=True), True),
        (DataLoader(Batches(), 4), True),
        (DataLoader(Rows(), batch_size=None), True),
        (DataLoader(TensorDataset(torch.zeros(1)), 4), True),
        (DataLoader(Rarely(), 4), False),
        (DataLoader(RarelyNumpy(), 4), False),
        (DataLoader(RarelyOwn(), 4), False),
        (DataLoader(Counting(), 4), False),
        (DataLoader(Fails(), 4), False),
        (DataLoader(Stream(), 4), False),
        (DataLoader(Rows(), 4, sampler=OwnOrder()), False),
        (DataLoader(Rows(), 4, collate_fn=Noise()), False),
    ],
    ids=lambda value: "",
)
def test_samples_repeat_that_depend_on_their_index_alone(loader, answer):
    before = torch.get_rng_state()
    assert repeats(loader) is answer
    assert torch.equal(torch.get_rng_state(), before)
    assert getattr(loader.dataset, "n_drawn", 0) == 0


def losses(scripts, text=TRAIN, n=20, dice=0, **settings):
    found = scripts.run(text, "losses", settings=settings, run={"steps": n, "dice": dice})
    assert found.outcome == "ok", found.traceback
    return found.events[-1]


def test_the_order_of_later_epochs_does_not_hang_on_what_the_model_draws(scripts):
    seen = losses(scripts), losses(scripts, dice=1), losses(scripts, num_workers=2)
    assert seen[0]["batches"] == seen[1]["batches"] == seen[2]["batches"]
    assert len(seen[0]["batches"]) == 20  # of 8 in an epoch
    assert [one["repeatable"] for one in seen] == [True, False, True]


def test_augmented_samples_of_the_scripts_own_process_do_not_either(scripts):
    noisy = TRAIN.replace("rows = TensorDataset(", "rows = Noisy(").replace(
        "torch.manual_seed(0)",
        "class Noisy(TensorDataset):\n"
        "    def __getitem__(self, i):\n"
        "        x, y = super().__getitem__(i)\n"
        "        return x + torch.randn(()), y\n"
        "torch.manual_seed(0)",
    )
    seen = losses(scripts, noisy), losses(scripts, noisy, dice=1)
    assert seen[0]["batches"] == seen[1]["batches"]
    assert seen[0]["losses"] != seen[1]["losses"] and not seen[0]["repeatable"]
    assert losses(scripts, noisy, num_workers=1)["batches"] != seen[0]["batches"]


def test_batches_are_compared_as_the_loader_gave_them(scripts):
    mixed = TRAIN.replace("for x, y in loader:", "for x, y in loader:\n            x.mul_(F(y))")
    mixed = "F = lambda y: 2\n" + mixed
    seen = losses(scripts, mixed), losses(scripts, mixed.replace("F = lambda y: 2", "F = abs"))
    assert seen[0]["batches"] == seen[1]["batches"]
    assert seen[0]["losses"] != seen[1]["losses"]


def test_a_model_in_evaluation_mode_gets_the_same_random_numbers(scripts):
    text = TRAIN.replace("def train(", "model.eval()\ndef train(").replace(
        "mse_loss(model(x), y)", "mse_loss(model(x) * torch.rand(()), y)"
    )
    seen = losses(scripts, text), losses(scripts, text), losses(scripts, text, dice=1)
    assert seen[0]["losses"] == seen[1]["losses"] != seen[2]["losses"]
