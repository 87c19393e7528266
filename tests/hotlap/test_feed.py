"""Batches that a feed throws away: what a loader made ahead of a slow first step."""

import pytest
from torch.utils.data import DataLoader
from virtual import Loader, World

from hotlap.feed import Feed


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_that_are_thrown_away_are_the_epoch_s_but_no_steps(workers):
    feed = Feed(DataLoader(range(12), batch_size=None, num_workers=workers), 12)
    assert feed.next() == 0
    feed.drop(4)
    assert feed.next() == 5 and feed.n_taken == 2 and feed.n_left() == 6
    assert feed.n_taken_at_end == 8


@pytest.mark.parametrize("n_epoch", [12, None])
def test_no_more_are_thrown_away_than_the_epoch_has(n_epoch):
    feed = Feed(range(12), n_epoch)
    feed.next()
    feed.drop(99)
    assert feed.n_in_epoch == 12 and feed.n_epochs == 1
    assert feed.next() == 0 and feed.n_epochs == 2 and feed.n_epoch_steps == 12


def test_where_a_queue_has_no_size_the_first_batch_that_is_waited_for_ends_it():
    world = World()
    feed = Feed(Loader(world, 3.0, workers=1, prefetch=8), None, world.clock, lambda _: None)
    feed.next()
    world.now += 10.0  # three more are made
    feed.drop(8, at_once_s=0.1)
    assert feed.n_in_epoch == 1 + 3 + 1 and feed.n_taken == 1
