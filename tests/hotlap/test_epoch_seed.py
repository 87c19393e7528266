"""The batches of a full run come in one order, however its sessions and its workers go."""

import pytest
import torch
from small_job import Images, loss, workload
from torch import nn
from torch.utils.data import BatchSampler, RandomSampler

from hotlap.apply import apply
from hotlap.full_run import train
from hotlap.job import EventLog, Job
from hotlap.settings import Settings

pytestmark = pytest.mark.usefixtures("flags_as_before")

EPOCH = 4
"""Steps of one: 32 images, 8 in a batch."""

KEPT = Settings(num_workers=2, persistent_workers=True)
ANEW = Settings(num_workers=2)
NONE = Settings()


class Numbered(Images):
    """Images with their places as labels."""

    def __getitem__(self, i):
        return super().__getitem__(i)[0], i


def shuffled():
    return {"shuffle": True}


def with_a_generator():
    return {"shuffle": True, "loader_defaults": {"generator": torch.Generator()}}


def with_a_samplers_generator():
    order = RandomSampler(Numbered(), generator=torch.Generator())
    return {"loader_defaults": {"sampler": order}}


def with_batches_of_a_generator():
    order = RandomSampler(Numbered(), generator=torch.Generator())
    return {"loader_defaults": {"batch_sampler": BatchSampler(order, 8, False)}}


def lazy():
    """Its loader has given a batch before the first epoch."""
    return {"shuffle": True, "model": nn.Sequential(nn.Flatten(), nn.LazyLinear(2))}


class Buckets:
    """Decides as it is asked for its batches, and not as it gives the first one."""

    def __len__(self):
        return EPOCH

    def __iter__(self):
        return iter(torch.randperm(32).view(EPOCH, 8).tolist())


def decided_at_once():
    return {"loader_defaults": {"batch_sampler": Buckets()}}


def batches(folder, settings, ways, *ends):
    """The images of each batch that is trained on, in sessions that end at these steps."""
    asked, trained_on = [], []

    def numbered_loss(model, batch):
        images, places = batch
        asked.append(places.tolist())
        return loss(model, (images, places % 2))

    folder.mkdir()
    place = folder / "checkpoint.pt"
    for end in ends:
        made = workload(dataset=Numbered(), loss=numbered_loss, **ways())
        applied = apply(made, settings)
        n_before = len(asked)  # a lazy module has looked at a batch to find out its shapes
        resume = str(place) if place.exists() else None
        run = {"epochs": 9, "max_steps": end, "folder": str(folder), "resume": resume}
        train(made, applied, Job("", run=run), EventLog(folder))
        trained_on += asked[n_before:]
    assert len(trained_on) == ends[-1]
    return trained_on


WAYS = [shuffled, with_a_generator, with_a_samplers_generator, with_batches_of_a_generator, lazy]


@pytest.mark.parametrize("ways", [*WAYS, decided_at_once])
@pytest.mark.parametrize("settings", [KEPT, ANEW, NONE], ids=["kept", "anew", "none"])
def test_a_run_that_goes_on_trains_on_the_batches_of_one_that_was_never_stopped(
    tmp_path, ways, settings
):
    whole = batches(tmp_path / "whole", settings, ways, 3 * EPOCH)
    parts = batches(tmp_path / "parts", settings, ways, EPOCH + 2, 3 * EPOCH)
    assert parts == whole
    epochs = [sum(whole[i : i + EPOCH], []) for i in range(0, 3 * EPOCH, EPOCH)]
    assert all(sorted(epoch) == list(range(32)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3


@pytest.mark.parametrize("ways", WAYS)
def test_the_order_is_the_same_whoever_loads(tmp_path, ways):
    none = batches(tmp_path / "none", NONE, ways, 2 * EPOCH)
    assert batches(tmp_path / "kept", KEPT, ways, 2 * EPOCH) == none
    assert batches(tmp_path / "anew", ANEW, ways, 2 * EPOCH) == none


def test_an_order_that_is_decided_at_once_is_the_same_with_any_workers(tmp_path):
    kept = batches(tmp_path / "kept", KEPT, decided_at_once, 2 * EPOCH)
    assert batches(tmp_path / "anew", ANEW, decided_at_once, 2 * EPOCH) == kept
