"""A virtual clock with a training step and a loader on it: every cost is known by construction.

Nothing here depends on this machine's speed.
"""

import math

import pytest

from hotlap.drive import drive
from hotlap.feed import Feed
from hotlap.job import Window
from hotlap.measurement import Measurement
from hotlap.sides import compute_nothing, hold
from hotlap.window import WindowTimer

BATCH = 4
ENDLESS = 100_000
"""Steps of an epoch of which no window sees the end."""

AFTERWARDS_S = 1000.0
"""What a script does after its training: it evaluates, and saves."""


class Ended(Exception):
    """Training has ended by itself."""


class World:
    """A virtual clock with a training step."""

    def __init__(self, step_s=0.1, first_step_s=None):
        self.now = 0.0
        self.step_s = step_s
        self.first_step_s = step_s if first_step_s is None else first_step_s
        self.n_steps = 0

    def pause(self, seconds):
        self.now += seconds

    def clock(self):
        return self.now

    def step(self, batch):
        self.now += self.first_step_s if self.n_steps == 0 else self.step_s
        self.n_steps += 1
        return 1.0

    mark = None
    stalls = None

    def synchronize(self):
        pass


class Loader:
    """Batches that take `batch_s` each in one of `workers`, which take `start_s` to start.

    As in torch: batch i is made by worker i % workers; `workers * prefetch` are asked for at the
    start, one more whenever one is taken; they are handed over in order. Workers start anew in each
    epoch; persistent ones once, and at the next epoch they first make what they still owe.
    """

    def __init__(
        self, world, batch_s, workers=0, prefetch=2, n=ENDLESS, start_s=0.0, persistent=False
    ):
        self.world, self.batch_s, self.workers = world, batch_s, workers
        self.prefetch, self.n, self.start_s = prefetch, n, start_s
        self.persistent = persistent
        self.last = None

    def __iter__(self):
        if self.persistent and self.workers and self.last is not None:
            self.world.now = max(self.world.now, *self.last.free)
        else:
            self.world.now += self.start_s
        self.last = Epoch(self)
        return self.last


class Epoch:
    """One pass over a Loader."""

    def __init__(self, loader):
        self.loader, self.world, self.i, self.done = loader, loader.world, 0, {}
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


class ScriptFeed(Feed):
    """A script's feed: its epochs begin when it wants."""

    restarts = False

    def restart(self):
        raise AssertionError("nobody can begin an epoch of a script")

    def drop(self, n, at_once_s=None):
        raise AssertionError("nobody can take a script's batches")


def ready(iterator):
    """As hotlap.queue_depth.ready_batches."""
    if not isinstance(iterator, Epoch) or iterator.loader.workers == 0:
        return None
    return sum(at <= iterator.world.now for at in iterator.done.values())


def measure(
    world,
    loader,
    window=None,
    n_epoch_steps=None,
    side="both",
    count=lambda batch: BATCH,
    other_cpu_share=lambda: 0.0,
    usage=dict,
    in_flight=True,
    until="timed",
    feed_of=Feed,
    ends_at=math.inf,
    looks=ready,
):
    """The measurement of one trial, put together as hotlap/worker.py does it.

    With `until` it is what is known after the first event of that name; `feed_of` tells a
    workload's feed from a script's. Training ends by itself before the step `ends_at`. `looks` at
    the loader's queue.
    """
    events = []
    batches, n_held, workers = loader, 1, loader.workers
    if side == "compute":
        batches, workers, n_epoch_steps = hold(loader, world.clock), 0, None
        n_held = len(batches.batches)
    stalls = world.stalls if in_flight and side == "both" else None
    feed = feed_of(batches, n_epoch_steps, world.clock, looks, stalls)
    timer = WindowTimer(
        feed,
        window or Window(),
        num_workers=workers,
        persistent=workers > 0 and loader.persistent,
        n_prefetched=workers * loader.prefetch,
        n_held=n_held,
        emit=lambda event, **values: events.append({"event": event, **values}),
        synchronize=world.synchronize,
        mark=world.mark if in_flight else None,
        other_cpu_share=other_cpu_share,
        usage=usage,
        clock=world.clock,
        pause=world.pause,
    )
    take = feed.next

    def next_batch():
        if world.n_steps + 1 >= ends_at:
            raise Ended
        return take()

    if ends_at < math.inf:
        feed.next = next_batch
    try:
        drive(timer.run(), compute_nothing if side == "loader" else world.step, feed, count)
    except Ended:
        at_s, world.now = world.now, world.now + AFTERWARDS_S
        assert timer.cut_short(at_s), "nothing was timed"
    events = events[: 1 + [event["event"] for event in events].index(until)]
    return Measurement.from_events(
        [{"event": "built", "num_workers": workers, "side": side}, *events]
    )


def truth(make, side="both"):
    """The arithmetic answer: samples over seconds of plain training, from the second epoch on."""
    world, loader = make()
    n_epochs = 3 + 200 // loader.n
    start = 0.0
    for epoch in range(n_epochs + 1):
        for batch in loader:
            if side != "loader":
                world.step(batch)
        if epoch in (0, n_epochs):
            world.synchronize()
        if epoch == 0:
            start = world.now
    return BATCH * loader.n * n_epochs / (world.now - start)


def right(samples_per_s):
    """What a measurement has to say: within 3 % of the arithmetic answer."""
    return pytest.approx(samples_per_s, rel=0.03)


def wrong(naive, samples_per_s):
    """Whether a naive answer is off by more than 10 %."""
    return abs(naive / samples_per_s - 1) > 0.1
