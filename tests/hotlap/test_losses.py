"""Losses that can be compared: the same for the same settings, honest about what goes wrong."""

import json
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import Dataset, RandomSampler

import hotlap
from hotlap.errors import InvalidTrial
from hotlap.job import EventLog, Job
from hotlap.losses import TRIES, train
from hotlap.same_samples import repeatable, seed_all


class Rows(Dataset):
    def __init__(self, n=20):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.rand(8) + i / self.n, i % 2


class Net(nn.Module):
    """With dropout, before which another kernel may draw `n_drawn` numbers of its own."""

    def __init__(self, n_drawn=0):
        super().__init__()
        self.first, self.second, self.n_drawn = nn.Linear(8, 32), nn.Linear(32, 2), n_drawn

    def forward(self, x):
        hidden = F.dropout(self.first(x).relu(), 0.5)
        torch.rand(self.n_drawn)
        return self.second(hidden)


def loss_of(model, batch):
    return F.cross_entropy(model(batch[0]).float(), batch[1])


@pytest.fixture
def answer(tmp_path):
    def run(steps, model=Net, loss=loss_of, n=20, lr=0.1, dice=0, own=None, **settings):
        seed_all(0)
        made = hotlap.Workload(
            model=model(),
            dataset=Rows(n),
            loss=loss,
            optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=lr, **kernel),
            batch_size=4,
            loader_defaults=own or {},
        )
        made = repeatable(made, 0)
        applied = hotlap.apply(made, hotlap.Settings(**settings))
        train(made, applied, Job("here", run={"steps": steps, "dice": dice}), EventLog(tmp_path))
        return json.loads((tmp_path / "events.jsonl").read_text().splitlines()[-1])

    return run


def test_a_run_repeats_its_bits_over_epochs_with_dropout_and_augmentation(answer):
    first = answer(12)
    assert len(first["losses"]) == len(first["batches"]) == 12
    assert answer(12)["losses"] == first["losses"]
    assert answer(12, num_workers=2)["losses"] == first["losses"]
    assert first["finite"] and first["repeatable"] and first["n_skipped_steps"] == 0


def test_a_sampler_of_the_workloads_own_gives_one_order_whoever_loads(answer):
    own = {"sampler": RandomSampler(Rows())}
    plain = answer(12, own=own)["batches"]
    assert plain[:5] != plain[5:10]  # another order in the second epoch
    for kept in (False, True):
        found = answer(12, own=own, num_workers=2, persistent_workers=kept)
        assert found["batches"] == plain


def test_a_kernel_that_draws_more_numbers_does_not_change_the_steps_and_batches_that_follow(answer):
    assert answer(8, model=lambda: Net(n_drawn=5))["losses"] == answer(8)["losses"]


def test_the_first_update_has_the_size_of_the_learning_rate(answer):
    assert answer(1, lr=0.2)["first_update"] == pytest.approx(2 * answer(1, lr=0.1)["first_update"])


def test_other_dice_are_other_dropout_and_last_bits_on_the_same_batches(answer):
    def still(n):
        return answer(4, model=lambda: nn.Linear(8, 2), dice=n)

    plain, nudged = still(0), still(1)
    assert nudged["batches"] == plain["batches"]
    assert nudged["losses"] == pytest.approx(plain["losses"], rel=1e-5)
    assert nudged["losses"] != plain["losses"] and still(2)["losses"] != nudged["losses"]
    assert abs(answer(4, dice=1)["losses"][0] - answer(4)["losses"][0]) > 1e-3


def test_a_loss_that_is_not_finite_ends_the_run(answer):
    steps = iter(range(100))

    def breaks(model, batch):
        return loss_of(model, batch) * (math.nan if next(steps) == 2 else 1)

    found = answer(8, loss=breaks)
    assert len(found["losses"]) == 3 and math.isnan(found["losses"][2]) and not found["finite"]


def test_skipped_updates_are_tried_again_until_the_scale_is_found(answer):
    # The loss and its gradient are fine in float32; scaled by 2**16 the gradient overflows in fp16.
    def steep(model, batch):
        return loss_of(model, batch) * 30

    plain, half = answer(6, loss=steep, lr=1e-4), answer(6, loss=steep, lr=1e-4, amp="fp16")
    assert half["n_skipped_steps"] > 0 and len(half["losses"]) == 6
    assert half["losses"] == pytest.approx(plain["losses"], rel=1e-2)


def test_updates_that_are_skipped_again_and_again_end_the_run(answer):
    def hopeless(model, batch):
        return (model(batch[0]) * 1e3).float().pow(2).sum() * 1e3

    found = answer(6, loss=hopeless, amp="fp16")
    assert found["n_skipped_steps"] == TRIES and len(found["losses"]) == 1
    assert found["first_update"] == 0.0


def test_a_loader_without_batches_is_an_error(answer):
    with pytest.raises(InvalidTrial, match="make the batch smaller"):
        answer(3, n=2)
