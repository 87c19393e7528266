"""A dataset that can be read once only is named as that, wherever the second reading fails."""

import pytest
import torch
from small_job import Images, workload
from torch.utils.data import IterableDataset

from hotlap.apply import apply
from hotlap.errors import NoBatch
from hotlap.feed import Feed
from hotlap.full_run import train
from hotlap.job import EventLog, Job
from hotlap.settings import Settings

pytestmark = pytest.mark.usefixtures("flags_as_before")


class Once(IterableDataset):
    """Four batches of 8, and nothing more when it is asked again."""

    def __init__(self, n=32):
        self.samples = iter([Images()[i] for i in range(n)])

    def __iter__(self):
        return self.samples


def test_a_trial_says_that_the_iterator_is_used_up():
    feed = Feed(apply(workload(dataset=Once()), Settings()).loader, None)
    for _ in range(4):
        feed.next()
    with pytest.raises(NoBatch, match=r"in 1 epoch and none .* can be used once only"):
        feed.next()


def test_a_full_run_does_not_count_epochs_without_a_batch(tmp_path):
    made = workload(dataset=Once())
    job = Job("", run={"epochs": 3, "folder": str(tmp_path)})
    with pytest.raises(NoBatch, match="can be used once only"):
        train(made, apply(made, Settings()), job, EventLog(tmp_path))
    assert (tmp_path / "events.jsonl").read_text().count('"event": "epoch"') == 1


def test_a_loader_without_any_batch_is_another_mistake(tmp_path):
    made = workload(dataset=Once(n=0))
    with pytest.raises(NoBatch, match="make the batch smaller"):
        Feed(apply(made, Settings()).loader, None).next()
    job = Job("", run={"epochs": 3, "folder": str(tmp_path)})
    with pytest.raises(NoBatch, match="make the batch smaller"):
        train(made, apply(made, Settings()), job, EventLog(tmp_path))


def test_batches_that_come_again_are_batches():
    feed = Feed(apply(workload(), Settings()).loader, None)
    assert all(isinstance(feed.next()[0], torch.Tensor) for _ in range(9))
