"""What an epoch's start costs in a script, whose epochs nobody can begin on purpose."""

import pytest
from small_job import workload
from virtual import BATCH, Loader, ScriptFeed, World, measure, right, truth, wrong

from hotlap import worker
from hotlap.apply import apply
from hotlap.job import Job
from hotlap.settings import Settings


def charged_in_each_epoch(found, loader):
    """The naive answer: what the first epoch waited for is paid by each."""
    first_wait_s = found.warmup[0].data_wait_s
    epoch_s = loader.n * BATCH / found.steady.value
    return loader.n * BATCH / (epoch_s + first_wait_s)


@pytest.mark.parametrize("n_epoch", [40, 60, 130])
@pytest.mark.parametrize("batch_s", [0.02, 0.3])
def test_workers_that_persist_are_started_once_and_not_in_each_epoch(n_epoch, batch_s):
    def make():
        world = World(0.1)
        return world, Loader(world, batch_s, 2, 2, n_epoch, start_s=4.0, persistent=True)

    world, loader = make()
    found = measure(world, loader, n_epoch_steps=n_epoch, feed_of=ScriptFeed)
    assert not found.epochs_in_blocks
    assert wrong(charged_in_each_epoch(found, loader), truth(make))
    assert found.samples_per_s == right(truth(make))


def test_a_border_that_the_window_meets_tells_its_cost():
    # A border of persistent workers that costs far more than their batch: the data set shuffles.
    class Shuffles(Loader):
        def __iter__(self):
            self.world.now += 1.0
            return super().__iter__()

    def make():
        world = World(0.1)
        return world, Shuffles(world, 0.02, 2, 2, 40, start_s=4.0, persistent=True)

    found = measure(*make(), n_epoch_steps=40, feed_of=ScriptFeed)
    assert found.epoch_start_known
    assert found.epoch_start_s == pytest.approx(1.02, abs=0.05)
    assert found.samples_per_s == right(truth(make))


def test_a_border_far_away_is_bounded_by_a_round_of_steps_and_that_is_said():
    # Eight workers and epochs of 100 steps of a second: their round is a twelfth of an epoch.
    def make():
        world = World(1.0)
        return world, Loader(world, 0.5, 8, 2, 100, start_s=20.0, persistent=True)

    found = measure(*make(), n_epoch_steps=100, feed_of=ScriptFeed)
    assert not found.epoch_start_known
    assert found.epoch_start_s == pytest.approx(8.0, abs=0.1)
    assert 0.92 * truth(make) < found.samples_per_s <= 1.01 * truth(make)


def test_a_small_bound_is_as_good_as_known():
    def make():
        world = World(0.1)
        return world, Loader(world, 0.1, 2, 2, 1000, start_s=20.0, persistent=True)

    found = measure(*make(), n_epoch_steps=1000, feed_of=ScriptFeed)
    assert found.epoch_start_known
    assert found.samples_per_s == right(truth(make))


class EndlessFeed(ScriptFeed):
    """Of a loader whose order never ends."""

    endless = True


class GoesOn(ScriptFeed):
    """Of one whose pass goes on where its epoch should end, which shows only there."""

    @property
    def endless(self):
        return self.n_taken > self.n_epoch_steps


@pytest.mark.parametrize(
    ("feed", "n_epoch", "batch_s"),
    [
        (EndlessFeed, 5, 0.02),
        (EndlessFeed, 40, 0.3),
        (EndlessFeed, 130, 0.02),
        (GoesOn, 5, 0.02),
        (GoesOn, 5, 0.3),
        (GoesOn, 20, 0.02),
    ],
)
def test_a_pass_without_an_end_has_no_epoch_start(feed, n_epoch, batch_s):
    world = World(0.1)
    loader = Loader(world, batch_s, 2, 2, start_s=4.0)
    found = measure(world, loader, n_epoch_steps=n_epoch, feed_of=feed)
    assert found.epoch_start_s == 0.0 and not found.epochs_in_blocks
    assert found.n_epoch_steps == n_epoch
    assert found.samples_per_s == right(BATCH / max(0.1, batch_s / 2))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_workers_that_start_anew_are_charged_in_each_epoch_behind_a_slow_first_step(workers):
    # Their loader binds: what they fetch while the first step compiles shows in no later epoch.
    def make():
        world = World(0.1, 60.0)
        return world, Loader(world, 0.3 * workers, workers, 2, 120, start_s=4.0)

    found = measure(*make(), n_epoch_steps=120, feed_of=ScriptFeed)
    assert found.samples_per_s == right(truth(make))


class Asked(Exception):
    """The window is not begun: only what it is told is looked at."""


@pytest.mark.parametrize("persistent", [False, True])
def test_a_workloads_window_knows_whether_its_workers_owe_batches_at_a_border(
    monkeypatch, persistent
):
    told = {}

    def timer(feed, window, **how):
        told.update(how)
        raise Asked

    monkeypatch.setattr(worker, "WindowTimer", timer)
    settings = Settings(num_workers=2, persistent_workers=persistent)
    mine = workload()
    with pytest.raises(Asked):
        worker._time(Job(""), mine, apply(mine, settings), lambda event, **values: None)
    assert told["persistent"] is persistent
