"""Traps (see naive.py): what begins anew with each epoch, and what only with the first."""

import itertools

from naive import plain
from virtual import BATCH, Loader, World, measure, right, truth, wrong


def test_workers_that_start_anew_in_each_epoch():
    def make():
        world = World(0.1)
        return world, Loader(world, 0.05, 2, 2, 100, start_s=4.0)

    assert wrong(plain(*make(), 10, 80), truth(make))
    assert measure(*make(), n_epoch_steps=100).samples_per_s == right(truth(make))


def test_the_first_epochs_start_taken_for_all():
    def make():
        world = World(0.1)
        return world, Loader(world, 0.05, 2, 2, 100, start_s=4.0, persistent=True)

    world, loader = make()
    for batch in loader:
        world.step(batch)
    assert wrong(BATCH * loader.n / world.now, truth(make))
    assert measure(*make(), n_epoch_steps=100).samples_per_s == right(truth(make))


def test_an_epochs_start_behind_a_slow_first_step():
    # All but the first wait of the first epoch fall into its 60 s: the start seems to cost less
    # than the queue's batches, 16 of 0.3 s.
    def make():
        world = World(0.1, first_step_s=60.0)
        return world, Loader(world, 0.6, 2, 8, 60, start_s=4.0)

    world, loader = make()
    waits, asked_at = [], world.now
    for batch in loader:
        waits.append(world.now - asked_at)
        world.step(batch)
        asked_at = world.now
    start_s = max(0.0, sum(waits[:18]) - 18 * 0.2)
    naive = BATCH * 60 / (60 * 0.3 + start_s)
    assert wrong(naive, truth(make))
    assert measure(*make(), n_epoch_steps=60).samples_per_s == right(truth(make))


def test_a_dataset_shorter_than_the_window():
    # Batches taken by turns out of a list cost nothing after the first round.
    world = World(0.1)
    cycled = itertools.cycle(Loader(world, 0.05, n=3))
    start = world.now
    for batch in itertools.islice(cycled, 60):
        world.step(batch)
    assert wrong(BATCH * 60 / (world.now - start), BATCH / 0.15)

    world = World(0.1)
    found = measure(world, Loader(world, 0.05, n=3), n_epoch_steps=3)
    assert found.epochs_in_blocks
    assert found.samples_per_s == right(BATCH / 0.15)
