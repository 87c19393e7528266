"""What training tells of its speed that ends by itself in its warm-up, with and without workers."""

import pytest
from virtual import BATCH, Loader, ScriptFeed, World, measure, truth

from hotlap.errors import InvalidTrial
from hotlap.job import Window

LONG = Window(block_s=1e4, max_warmup_s=1e6)
"""The first two steps are a block each, and no later block is full before these scripts end."""


def ended(make, n_steps):
    """The measurement of a script that does so many steps."""
    world, loader = make()
    n = loader.n if loader.n <= n_steps else None
    return measure(world, loader, LONG, n, feed_of=ScriptFeed, ends_at=n_steps + 1)


def near(samples_per_s):
    """A short script's number is not as sharp as a window's."""
    return pytest.approx(samples_per_s, rel=0.1)


@pytest.mark.parametrize("n_steps", [3, 5, 6, 7, 60, 300])
def test_all_steps_after_the_first_two_count(n_steps):
    def make():
        world = World(0.1, first_step_s=20.0)
        return world, Loader(world, 0.05, n=n_steps)

    found = ended(make, n_steps)
    assert sum(block.steps for block in found.blocks) == n_steps - 2
    assert found.warmup[2:] == found.blocks and not found.settled
    assert found.samples_per_s == pytest.approx(BATCH / 0.15, rel=0.01)


@pytest.mark.parametrize("n_steps", [1, 2])
def test_the_first_two_alone_tell_nothing(n_steps):
    world = World(0.1)
    with pytest.raises(AssertionError, match="nothing was timed"):
        measure(world, Loader(world, 0.0), LONG, feed_of=ScriptFeed, ends_at=n_steps + 1)


@pytest.mark.parametrize("first_step_s", [0.01, 20.0])
@pytest.mark.parametrize(("workers", "prefetch"), [(1, 2), (1, 16), (2, 2), (8, 2)])
def test_batches_that_were_ready_before_are_not_the_loader_s_pace(workers, prefetch, first_step_s):
    """32 steps of one epoch: with 8 workers there is no block but that which ends with it."""

    def make():
        world = World(0.01, first_step_s)
        return world, Loader(world, 0.1 * workers, workers, prefetch, 32, start_s=0.3)

    assert ended(make, 32).steady.value == near(BATCH / 0.1)


@pytest.mark.parametrize(("workers", "prefetch"), [(1, 2), (1, 16), (2, 2), (8, 2)])
def test_where_no_step_waits_the_model_s_pace_is_the_number(workers, prefetch):
    def make():
        world = World(0.1, first_step_s=20.0)
        return world, Loader(world, 0.001, workers, prefetch, 32)

    assert ended(make, 32).steady.value == pytest.approx(BATCH / 0.1, rel=0.01)


@pytest.mark.parametrize("n_epoch", [8, 10, 32])
@pytest.mark.parametrize("behind", [0.2, 3.0])
@pytest.mark.parametrize("workers", [0, 2, 8])
def test_borders_among_the_steps_count_once(workers, behind, n_epoch):
    def make():
        world = World(0.1)
        return world, Loader(world, 0.1 * behind * max(1, workers), workers, 2, n_epoch, 1.0)

    found = ended(make, 4 * n_epoch)
    assert found.samples_per_s == near(truth(make))
    assert found.epoch_start_known


@pytest.mark.parametrize("n_epoch", [8, 16, 1000])
def test_a_script_that_trained_on_nothing_but_the_first_queue_has_no_pace(n_epoch):
    def make():
        world = World(0.1, first_step_s=20.0)
        return world, Loader(world, 4.0, 8, 2, n_epoch)

    with pytest.raises(InvalidTrial, match=r"8 loader workers may have fetched all of them ahead"):
        ended(make, min(n_epoch, 16))


def test_workers_that_have_filled_their_queue_again_keep_up():
    # It ends with a block, within an epoch: of 32 batches that were taken of 64 all were made anew.
    def make():
        world = World(0.1, first_step_s=20.0)
        return world, Loader(world, 0.01, 8, 8, 1000)

    assert ended(make, 34).samples_per_s == pytest.approx(BATCH / 0.1, rel=0.01)
