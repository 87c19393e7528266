"""The window's number is the true rate: checked on a loader and a step whose cost is constructed.

Time is virtual, so nothing here depends on this machine's speed.
"""

import math

import pytest

from hotlap.errors import Diverged, InvalidTrial
from hotlap.job import Window
from hotlap.measurement import Measurement
from hotlap.window import Feed, WindowTimer

BATCH = 4


class World:
    """A virtual clock with a training step and a loader like torch's on it."""

    def __init__(self, step_s=0.1, first_step_s=0.1):
        self.now = 0.0
        self.step_s = step_s
        self.first_step_s = first_step_s
        self.n_steps = 0

    def pause(self, seconds):
        self.now += seconds

    def clock(self):
        return self.now

    def step(self, batch):
        self.now += self.first_step_s if self.n_steps == 0 else self.step_s
        self.n_steps += 1
        return 1.0


class Loader:
    """Batches that take `batch_s` each in one of `workers`, which start anew in each epoch.

    As in torch: batch i is made by worker i % workers; `workers * prefetch` are asked for at the
    start, one more whenever one is taken; they are handed over in order.
    """

    def __init__(self, world, batch_s, workers=0, prefetch=2, n=100_000, start_s=0.0):
        self.world, self.batch_s, self.workers = world, batch_s, workers
        self.prefetch, self.n, self.start_s = prefetch, n, start_s

    def __iter__(self):
        return Epoch(self)


class Epoch:
    """One pass over a Loader."""

    def __init__(self, loader):
        self.loader, self.world, self.i, self.done = loader, loader.world, 0, {}
        self.world.now += loader.start_s
        self.free = [self.world.now] * loader.workers
        for i in range(loader.workers * loader.prefetch):
            self.ask(i)

    def ask(self, i):
        if i < self.loader.n:
            w = i % self.loader.workers
            self.free[w] = max(self.free[w], self.world.now) + self.loader.batch_s
            self.done[i] = self.free[w]

    def __iter__(self):
        return self

    def __next__(self):
        i, loader = self.i, self.loader
        if i == loader.n:
            raise StopIteration
        self.i += 1
        if loader.workers == 0:
            self.world.now += loader.batch_s
        else:
            self.world.now = max(self.world.now, self.done.pop(i))
            self.ask(i + loader.workers * loader.prefetch)
        return i


def ready(iterator):
    if not isinstance(iterator, Epoch) or iterator.loader.workers == 0:
        return None
    return sum(at <= iterator.world.now for at in iterator.done.values())


def measure(world, loader, window=None, n_epoch_steps=None):
    events = []
    timer = WindowTimer(
        world.step,
        Feed(loader, n_epoch_steps, world.clock, ready),
        lambda batch: BATCH,
        window or Window(),
        num_workers=loader.workers,
        n_prefetched=loader.workers * loader.prefetch,
        emit=lambda event, **values: events.append({"event": event, **values}),
        clock=world.clock,
        pause=world.pause,
    )
    timer.run()
    return Measurement.from_events([{"event": "built", "num_workers": loader.workers}, *events])


def truth(make, n_epochs):
    """The arithmetic answer: samples over seconds of plain training for whole epochs."""
    world, loader = make()
    for _ in range(n_epochs):
        for batch in loader:
            world.step(batch)
    return BATCH * loader.n * n_epochs / world.now


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
@pytest.mark.parametrize("prefetch", [2, 8])
@pytest.mark.parametrize("batch_s", [0.01, 0.3])
@pytest.mark.parametrize("first_step_s", [0.1, 5.0])
def test_steady_rate_is_the_arithmetic_one(workers, prefetch, batch_s, first_step_s):
    world = World(0.1, first_step_s)
    loader = Loader(world, batch_s, workers, prefetch)
    found = measure(world, loader, n_epoch_steps=loader.n)
    step_s = 0.1 + batch_s if workers == 0 else max(0.1, batch_s / workers)
    assert found.samples_per_s == pytest.approx(BATCH / step_s, rel=0.03)


@pytest.mark.parametrize("slower", [1.02, 1.1, 1.3, 2.0])
def test_a_queue_that_still_runs_low_is_seen(slower):
    # The loader is a little slower than the model: a full queue of 16 hides that for a long time.
    world = World(0.1, 20.0)
    loader = Loader(world, 0.2 * slower, workers=2, prefetch=8)
    found = measure(world, loader, n_epoch_steps=100_000)
    assert found.samples_per_s == pytest.approx(BATCH / (0.1 * slower), rel=0.03)


def test_batches_fetched_during_a_slow_first_step_do_not_count():
    # A naive window of ten steps after the slow first one reads a rate many times too high.
    world = World(0.01, 20.0)
    loader = Loader(world, 0.5, workers=2, prefetch=8)
    iterator = iter(loader)
    world.step(next(iterator))
    start = world.now
    for _ in range(10):
        world.step(next(iterator))
    naive = 10 * BATCH / (world.now - start)
    true = BATCH / 0.25
    assert naive > 1.1 * true

    world = World(0.01, 20.0)
    found = measure(world, Loader(world, 0.5, 2, 8), n_epoch_steps=100_000)
    assert found.samples_per_s == pytest.approx(true, rel=0.03)


def test_prefetch_2_and_16_come_out_equal_when_the_loader_binds():
    rates = []
    for prefetch in (2, 16):
        world = World(0.005, 1.0)
        found = measure(world, Loader(world, 0.1, 1, prefetch), n_epoch_steps=100_000)
        rates.append(found.samples_per_s)
    assert rates[0] == pytest.approx(rates[1], rel=0.01)


def test_a_burst_of_several_workers_does_not_mislead():
    # With 4 workers three of four steps wait for nothing: their median says 10 times too much.
    world = World(0.01)
    loader = Loader(world, 0.4, workers=4, prefetch=2)
    steps, iterator = [], iter(loader)
    for _ in range(80):
        before = world.now
        world.step(next(iterator))
        steps.append(world.now - before)
    median = sorted(steps)[40]
    assert BATCH / median > 1.1 * BATCH / 0.1

    world = World(0.01)
    found = measure(world, Loader(world, 0.4, 4, 2), n_epoch_steps=100_000)
    assert found.samples_per_s == pytest.approx(BATCH / 0.1, rel=0.03)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("n_epoch", [5, 40, 300])
@pytest.mark.parametrize("start_s", [0.0, 0.5])
@pytest.mark.parametrize("batch_s", [0.01, 0.3])
def test_epoch_starts_are_counted_at_any_length(workers, n_epoch, start_s, batch_s):
    def make():
        world = World(0.1)
        return world, Loader(world, batch_s, workers, 2, n_epoch, start_s)

    world, loader = make()
    found = measure(world, loader, n_epoch_steps=n_epoch)
    assert found.samples_per_s == pytest.approx(truth(make, 20), rel=0.03)


def test_a_dataset_shorter_than_the_window_goes_round():
    world = World(0.1)
    found = measure(world, Loader(world, 0.01, n=3), n_epoch_steps=3)
    assert found.epochs_in_blocks
    assert found.samples_per_s == pytest.approx(BATCH / 0.11, rel=0.03)


def test_an_epoch_of_unknown_length_is_learned():
    world = World(0.1)
    found = measure(world, Loader(world, 0.01, n=3, start_s=0.3), n_epoch_steps=None)
    assert found.n_epoch_steps == 3
    assert found.samples_per_s == pytest.approx(3 * BATCH / (0.3 + 3 * 0.11), rel=0.03)


def test_blocks_are_whole_multiples_of_the_workers():
    world = World(0.07)
    found = measure(world, Loader(world, 0.01, workers=3), n_epoch_steps=100_000)
    assert {block.steps % 3 for block in found.blocks} == {0}


def test_compilation_is_told_apart():
    world = World(0.05, first_step_s=30.0)
    found = measure(world, Loader(world, 0.001), n_epoch_steps=100_000)
    assert found.compile_s == pytest.approx(29.95, rel=0.01)
    assert found.settled
    assert found.samples_per_s == pytest.approx(BATCH / 0.051, rel=0.01)


def test_steps_that_still_get_faster_do_not_count():
    class Warming(World):
        def step(self, batch):
            self.now += 0.05 + 1.0 * math.exp(-self.n_steps / 4)
            self.n_steps += 1
            return 1.0

    world = Warming()
    found = measure(world, Loader(world, 0.0), n_epoch_steps=100_000)
    assert found.samples_per_s == pytest.approx(BATCH / 0.05, rel=0.05)


def test_warm_up_ends_at_its_cap_and_says_so():
    class NeverSteady(World):
        def step(self, batch):
            self.n_steps += 1
            self.now += 10.0 * 0.9**self.n_steps
            return 1.0

    world = NeverSteady()
    found = measure(world, Loader(world, 0.0), n_epoch_steps=100_000)
    assert not found.settled


def test_a_quiet_window_ends_early_and_a_noisy_one_at_its_limit():
    class Noisy(World):
        def step(self, batch):
            self.n_steps += 1
            self.now += 0.5 if self.n_steps % 3 else 0.1
            return 1.0

    quiet, noisy = World(0.1), Noisy()
    window = Window(min_s=2, max_s=8, block_s=0.5)
    short = measure(quiet, Loader(quiet, 0.0), window, 100_000)
    long = measure(noisy, Loader(noisy, 0.0), window, 100_000)
    assert sum(b.seconds for b in short.blocks) < 3
    assert sum(b.seconds for b in long.blocks) >= 8


def test_a_machine_that_suddenly_slows_down_does_not_make_a_block_of_minutes():
    class Slowing(World):
        def step(self, batch):
            self.n_steps += 1
            self.now += 0.001 if self.n_steps < 300 else 0.1
            return 1.0

    world = Slowing()
    found = measure(world, Loader(world, 0.0), Window(block_s=0.5), n_epoch_steps=100_000)
    assert max(b.seconds for b in (*found.warmup, *found.blocks)) <= 2.2


def test_waiting_for_data_is_its_share_of_the_window():
    world = World(0.1)
    found = measure(world, Loader(world, 0.3), n_epoch_steps=100_000)
    assert found.data_wait_share == pytest.approx(0.75, rel=0.01)


def test_a_loss_that_is_not_finite_ends_the_trial():
    world = World()
    world.step = lambda batch: float("nan")
    with pytest.raises(Diverged, match="loss became nan"):
        measure(world, Loader(world, 0.01))


def test_a_loader_without_a_batch_is_said():
    world = World()
    with pytest.raises(InvalidTrial, match="fewer samples than batch_size"):
        measure(world, Loader(world, 0.01, n=0))
