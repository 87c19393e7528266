"""The rate is the arithmetic one over the whole grid, for training and for each side alone."""

import pytest
from virtual import BATCH, Loader, ScriptFeed, World, measure, right, truth

from hotlap.feed import Feed
from hotlap.job import Window

WINDOWS = {"alone": Window(), "study": Window(max_s=2.0, patience_s=8.0, precision=0.14)}
"""By itself, and as in a study of ten minutes on a machine whose processes differ by 14 %."""

SAMPLE_S = {1: 0.005, 16: 0.02}
"""Seconds in the loader for a sample, for each batch size: a quick loader and a slow one."""


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
@pytest.mark.parametrize("prefetch", [2, 8])
@pytest.mark.parametrize("batch_size", [1, 16])
@pytest.mark.parametrize("n_epoch", [5, 40, 130, 1000])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("first_step_s", [0.1, 20.0])
@pytest.mark.parametrize("feed_of", [Feed, ScriptFeed])
@pytest.mark.parametrize("window", WINDOWS)
def test_training(
    workers, prefetch, batch_size, n_epoch, persistent, first_step_s, feed_of, window
):
    def make():
        world = World(0.1, first_step_s)
        batch_s = SAMPLE_S[batch_size] * batch_size
        return world, Loader(world, batch_s, workers, prefetch, n_epoch, 0.5, persistent)

    found = measure(*make(), WINDOWS[window], n_epoch, feed_of=feed_of)
    assert found.samples_per_s == right(truth(make))
    assert found.side == "both"


@pytest.mark.parametrize("workers", [2, 4, 8])
@pytest.mark.parametrize("prefetch", [2, 4, 8])
@pytest.mark.parametrize("behind", [0.99, 1.02, 1.12, 1.25, 1.5, 3.0, 7.5])
@pytest.mark.parametrize("step_s", [0.1, 2.0, 10.0])
@pytest.mark.parametrize("slow_s", [0.0, 20.0])
@pytest.mark.parametrize("window", WINDOWS)
def test_a_loader_nearly_as_fast_as_the_model(workers, prefetch, behind, step_s, slow_s, window):
    """A full queue hides for hundreds of steps that the loader is `behind` times as slow."""
    world = World(step_s, slow_s + step_s)
    loader = Loader(world, behind * step_s * workers, workers, prefetch, 1000, 0.5, persistent=True)
    found = measure(world, loader, WINDOWS[window], n_epoch_steps=1000)
    # An epoch's start is less than a hundredth of it.
    assert found.samples_per_s == right(BATCH / (step_s * max(1.0, behind)))


@pytest.mark.parametrize("step_s", [2.0, 10.0])
@pytest.mark.parametrize("slow_s", [0.0, 20.0, 60.0])
@pytest.mark.parametrize("behind", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("prefetch", [2, 8])
@pytest.mark.parametrize("n_epoch", [8, 200])
@pytest.mark.parametrize("persistent", [False, True])
def test_steps_of_seconds(step_s, slow_s, behind, workers, prefetch, n_epoch, persistent):
    """Of which no window has as many as the loader had made while the first one was slow."""

    def make():
        world = World(step_s, slow_s + step_s)
        batch_s = behind * step_s * workers
        return world, Loader(world, batch_s, workers, prefetch, n_epoch, 0.5, persistent)

    found = measure(*make(), WINDOWS["study"], n_epoch)
    assert found.samples_per_s == right(truth(make))


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
@pytest.mark.parametrize("prefetch", [2, 8])
@pytest.mark.parametrize("batch_size", [1, 16])
@pytest.mark.parametrize("n_epoch", [8, 40, 130, 1000])
@pytest.mark.parametrize("persistent", [False, True])
def test_the_loader_alone(workers, prefetch, batch_size, n_epoch, persistent):
    def make():
        world = World(0.1)
        batch_s = SAMPLE_S[batch_size] * batch_size
        return world, Loader(world, batch_s, workers, prefetch, n_epoch, 0.5, persistent)

    world, loader = make()
    found = measure(world, loader, n_epoch_steps=n_epoch, side="loader")
    assert found.samples_per_s == right(truth(make, side="loader"))
    assert found.side == "loader" and world.n_steps == 0
    assert found.data_wait_share == pytest.approx(1.0)


@pytest.mark.parametrize("workers", [0, 4])
@pytest.mark.parametrize("n_epoch", [1, 5, 1000])
@pytest.mark.parametrize("first_step_s", [0.1, 20.0])
def test_the_model_alone(workers, n_epoch, first_step_s):
    world = World(0.1, first_step_s)
    found = measure(world, Loader(world, 3.0, workers, n=n_epoch, start_s=5.0), side="compute")
    assert found.samples_per_s == right(BATCH / 0.1)
    assert found.side == "compute" and found.num_workers == 0
    assert found.data_wait_share == 0.0


@pytest.mark.parametrize("workers", [1, 2])
def test_an_epochs_start_is_not_hidden_by_a_slow_first_step(workers):
    # The first epoch's workers fetch ahead while it compiles; every later epoch waits for them.
    def make():
        world = World(0.1, 60.0)
        return world, Loader(world, 0.3 * workers, workers, 8, 60, start_s=3.0)

    found = measure(*make(), n_epoch_steps=60)
    assert not found.epochs_in_blocks
    assert found.samples_per_s == right(truth(make))
    assert found.epoch_start_s == pytest.approx(3.0, abs=0.4)


def test_persistent_workers_do_not_seem_to_owe_batches_at_an_epochs_start():
    # Four workers with eight batches of 2 s each to make: 16 s that no epoch's own end has.
    def make():
        world = World(0.1)
        return world, Loader(world, 2.0, 4, 8, 40, start_s=3.0, persistent=True)

    found = measure(*make(), n_epoch_steps=40)
    assert found.samples_per_s == right(truth(make))
    assert found.epoch_start_s < 0.5
