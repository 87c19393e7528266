"""Batches keep their kind on the way to the device, and are cut only where that is sure."""

from collections import namedtuple

import pytest
import torch
from small_job import workload

import hotlap
from hotlap.batches import pieces
from hotlap.settings import Settings

pytestmark = pytest.mark.usefixtures("flags_as_before")


Pair = namedtuple("Pair", "x y")


class Bag:
    def __init__(self, x):
        self.x = x

    def to(self, device):
        return Bag(self.x.to(device))


def test_to_device_keeps_the_kind_of_every_container_and_moves_every_tensor():
    batch = {
        "pair": Pair(torch.zeros(2, 3, 4, 4), [torch.zeros(2), "text"]),
        "bag": Bag(torch.zeros(1)),
        "n": 3,
    }
    moved = hotlap.to_device(batch, "meta", Settings(memory_format="channels_last"))
    assert isinstance(moved["pair"], Pair) and isinstance(moved["pair"].y, list)
    assert moved["pair"].y[1] == "text" and moved["n"] == 3
    assert moved["bag"].x.device.type == moved["pair"].y[0].device.type == "meta"
    assert moved["pair"].x.is_contiguous(memory_format=torch.channels_last)


def test_non_blocking_reaches_the_copy():
    class Spy:
        def to(self, device, non_blocking):
            return non_blocking

    assert hotlap.to_device([Spy()], "cpu", Settings(non_blocking=True)) == [True]
    assert hotlap.to_device([Spy()], "cpu", Settings()) == [False]


@pytest.mark.parametrize("batch", [Bag(torch.zeros(4)), {"x": torch.zeros(4), "bag": Bag(1)}])
def test_what_nobody_knows_how_to_cut_is_no_piece_as_a_whole(batch):
    with pytest.raises(hotlap.errors.InvalidTrial, match=r"type Bag; give Workload\(split="):
        list(pieces(batch, 4, 2))


def test_scalars_and_texts_go_with_each_piece():
    batch = {"x": torch.zeros(4), "n": 3, "name": "train", "mask": None}
    assert [{**piece, "x": len(piece["x"])} for piece in pieces(batch, 4, 3)] == [
        {"x": 3, "n": 3, "name": "train", "mask": None},
        {"x": 1, "n": 3, "name": "train", "mask": None},
    ]


@pytest.mark.parametrize("batch", [Bag(torch.zeros(4)), [], [1, "two"], torch.tensor(3.0)])
def test_samples_that_cannot_be_counted_say_what_the_workload_has_to_give(batch):
    with pytest.raises(hotlap.errors.InvalidTrial) as told:
        workload().count(batch)
    assert "Workload(n_samples=" in str(told.value) and "split=" in str(told.value)
    assert workload(n_samples=lambda batch: 4).count(batch) == 4
