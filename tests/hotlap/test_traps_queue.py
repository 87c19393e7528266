"""Traps (see naive.py): a queue of batches that is fuller, or emptier, than it will be later."""

import itertools
import statistics

import pytest
from naive import plain
from virtual import BATCH, ENDLESS, Loader, World, measure, right, truth, wrong


@pytest.mark.parametrize("prefetch", [2, 8])
def test_a_queue_that_filled_during_a_slow_first_step(prefetch):
    world = World(0.01, first_step_s=20.0)
    assert wrong(plain(world, Loader(world, 0.5, 2, prefetch), 1, 10), BATCH / 0.25)

    world = World(0.01, first_step_s=20.0)
    found = measure(world, Loader(world, 0.5, 2, prefetch), n_epoch_steps=ENDLESS)
    assert found.samples_per_s == right(BATCH / 0.25)


def test_a_queue_that_runs_low_only_slowly():
    # A loader 30 % too slow eats a queue of 32 batches in 100 steps; ten steps of warm-up and
    # fifty timed ones see nothing of it.
    world = World(0.1, first_step_s=20.0)
    assert wrong(plain(world, Loader(world, 0.52, 4, 8), 10, 50), BATCH / 0.13)

    world = World(0.1, first_step_s=20.0)
    found = measure(world, Loader(world, 0.52, 4, 8), n_epoch_steps=ENDLESS)
    assert found.samples_per_s == right(BATCH / 0.13)


def test_a_queue_that_ends_with_its_epoch():
    # All 40 batches are asked for long before the last is taken: the queue runs low, and yet the
    # loader is far quicker than the model.
    def make():
        world = World(0.1)
        return world, Loader(world, 0.005, 4, 8, 40)

    found = measure(*make(), n_epoch_steps=40)
    taken = sum(block.steps for block in found.blocks[1:])
    naive = found.samples_per_s * (1 - (32 - 0) / taken)
    assert wrong(naive, truth(make))
    assert found.samples_per_s == right(truth(make))


def test_a_median_of_bursts():
    # Three of four steps wait for nothing.
    world = World(0.01)
    iterator = iter(Loader(world, 0.4, workers=4))
    steps = []
    for _ in range(80):
        before = world.now
        world.step(next(iterator))
        steps.append(world.now - before)
    assert wrong(BATCH / statistics.median(steps), BATCH / 0.1)

    world = World(0.01)
    found = measure(world, Loader(world, 0.4, 4, 2), n_epoch_steps=ENDLESS)
    assert found.samples_per_s == right(BATCH / 0.1)


def test_the_loader_alone_after_its_start():
    # The first batches are asked for all at once and come after the workers' start.
    world = World()
    loader = Loader(world, 0.4, 4, 2, start_s=3.0)
    n = sum(1 for _ in itertools.islice(loader, 40))
    assert wrong(BATCH * n / world.now, BATCH / 0.1)

    world = World()
    loader = Loader(world, 0.4, 4, 2, start_s=3.0)
    found = measure(world, loader, n_epoch_steps=ENDLESS, side="loader")
    assert found.samples_per_s == right(BATCH / 0.1)
