"""The timed window of one trial: warm up until steady, then time blocks of steps.

What keeps the number honest (each rule has a test):

- The device is synchronized at block borders only: not at all would time the queueing of kernels,
  at each step would take away the overlap that training has.
- A block is a whole multiple of `num_workers` steps, because workers deliver in bursts.
- The first `num_workers * prefetch_factor` batches may have been fetched while a slow first step
  ran, so warm-up lasts until they are used up, the loader's queue is full or empty but not on its
  way, and block times no longer fall.
- An epoch's start costs its own time. Where whole epochs fit into the window, a block is a whole
  number of epochs; elsewhere a block that an epoch's border cuts is thrown away, and the border's
  cost is measured on its own (`epoch_start_s`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hotlap.errors import Diverged, InvalidTrial, NoBatch
from hotlap.job import Window
from hotlap.measurement import Block, steady_rate
from hotlap.queue_depth import ready_batches

SETTLED = 0.95
"""Warm-up goes on while a block is faster than this share of the one before it: what warms up
(algorithm choice, allocator, caches) makes steps faster."""

EPOCHS_IN_WINDOW = 3
"""With at least so many epochs in a window, blocks are whole epochs."""

COMPILING = 5.0
"""A step that computes for so many times longer than the fastest one was compiling or choosing
algorithms; it does not count as warm-up."""

MAX_COMPILING = 8
"""After so many slow blocks it is no longer compilation: the machine itself has become slower."""

GROWTH = 4
"""A block has at most so many times the steps of the one before it, so that a first step served
from a full queue cannot lead to a block of minutes."""

OVERDUE = 4.0
"""A block is ended early once it takes so many times `block_s`: on a machine with neighbours the
same step may suddenly take a hundred times longer."""

LOADER_BOUND = 0.02
"""Above this share of waiting the loader matters, and a refilled queue has to be used up again."""

EPOCH_START_MATTERS = 0.005
"""Below this share of an epoch its start is not measured a second time."""

MIN_BLOCKS = 3
"""Fewer blocks give no interval worth reading (Student's t with one degree of freedom is 12.7)."""

Emit = Callable[..., None]
Clock = Callable[[], float]


class Feed:
    """Batches without end: the loader goes round, and the time blocked in it is counted.

    Attributes:
        wait_s: Seconds blocked in the loader since the start, epoch starts included.
        last_wait_s: Of these, for the last batch.
        now: The clock when the last batch had come.
        n_epochs: Epochs begun.
        n_in_epoch: Batches taken of the current epoch.
        n_epoch_steps: Batches of an epoch, None until it is known.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        n_epoch_steps: int | None,
        clock: Clock = time.perf_counter,
        ready: Callable[[Iterator[Any]], int | None] = ready_batches,
    ) -> None:
        self._loader = loader
        self._clock = clock
        self._ready = ready
        self._iterator: Iterator[Any] = iter(())
        self.now = 0.0
        self.wait_s = 0.0
        self.last_wait_s = 0.0
        self.n_epochs = 0
        self.n_in_epoch = 0
        self.n_epoch_steps = n_epoch_steps

    def next(self) -> Any:
        """The next batch.

        Raises:
            InvalidTrial: The loader gives no batch at all.
        """
        start = self._clock()
        try:
            batch = next(self._iterator)
        except StopIteration:
            batch = self._next_epoch()
        self.n_in_epoch += 1
        self.now = now = self._clock()
        self.last_wait_s = now - start
        self.wait_s += now - start
        return batch

    def n_ready(self) -> int | None:
        """Batches ready to be taken, None if that cannot be told."""
        return self._ready(self._iterator)

    def restart(self) -> None:
        """Begin a new epoch at the next batch, whatever is left of this one."""
        self._iterator = iter(())
        self.n_in_epoch = 0

    def _next_epoch(self) -> Any:
        if self.n_epochs and self.n_in_epoch:
            self.n_epoch_steps = self.n_in_epoch
        self._iterator = iter(self._loader)
        self.n_epochs += 1
        self.n_in_epoch = 0
        try:
            return next(self._iterator)
        except StopIteration:
            raise NoBatch(self.n_epochs - 1) from None


class WindowTimer:
    """Times the training of one trial and emits what it sees as events.

    Args:
        step: One optimizer update on a batch; returns the loss, not synchronized.
        feed: Where the batches come from.
        count: Samples of a batch.
        window: How long to warm up and to time.
        num_workers: Loader workers; blocks are whole multiples of it.
        n_prefetched: Batches that may have been fetched before the first step ended.
        persistent_workers: Whether the loader keeps its workers between epochs.
        emit: Called as emit("block", ...); see hotlap/job.py for the events.
        synchronize: Waits for the device.
        other_cpu_share: CPU used by others since its last call, 0..1.
        clock: Seconds; another clock lets tests construct time.
    """

    def __init__(
        self,
        step: Callable[[Any], Any],
        feed: Feed,
        count: Callable[[Any], int],
        window: Window,
        *,
        num_workers: int = 0,
        n_prefetched: int = 0,
        persistent_workers: bool = False,
        emit: Emit,
        synchronize: Callable[[], None] = lambda: None,
        other_cpu_share: Callable[[], float] = lambda: 0.0,
        clock: Clock = time.perf_counter,
    ) -> None:
        self._step = step
        self._feed = feed
        self._count = count
        self._window = window
        self._unit = max(1, num_workers)
        self._n_prefetched = n_prefetched
        self._emit = emit
        self._synchronize = synchronize
        self._other_cpu_share = other_cpu_share
        self._clock = clock
        self._persistent = persistent_workers
        self._warmup: list[Block] = []
        self._first_waits: list[float] = []
        self._fastest_s = math.inf  # computing, of one step
        self._step_s = math.inf  # of the last block, waiting included
        self._n_block = self._unit
        self._whole_epochs = False

    def run(self) -> list[Block]:
        """Warm up, then time. Returns the window's blocks.

        Raises:
            Diverged: The loss is not finite at a block's end.
            InvalidTrial: The loader gives no batch.
        """
        self._warm_up()
        blocks = self._time()
        self._emit(
            "timed",
            compile_s=self._compile_s(),
            epoch_start_s=self._epoch_start_s(blocks),
            epochs_in_blocks=self._whole_epochs,
            n_epoch_steps=self._feed.n_epoch_steps,
        )
        return blocks

    # Warm-up

    def _warm_up(self) -> None:
        start = self._clock()
        worked = 0.0
        n_slow = 0
        self._add_warmup(1)  # alone: it compiles, chooses algorithms, loads kernels
        self._add_warmup(1)
        reason = "cap"
        while worked < self._window.max_warmup_s:
            last = self._add_warmup(self._n_block)
            n_slow += self._compiling(last)
            if n_slow > MAX_COMPILING:
                self._fastest_s, n_slow = _computing(last), 0
            if not self._compiling(last):
                worked += last.seconds
            if self._is_steady(last):
                reason = "settled"
                break
        self._whole_epochs = self._epoch_s() * EPOCHS_IN_WINDOW <= self._window.max_s
        if self._whole_epochs:
            self._finish_epoch()
        self._emit("warm", warmup_s=self._clock() - start, reason=reason)

    def _add_warmup(self, n_steps: int) -> Block:
        block = self._block(n_steps, self._first_waits if self._feed.n_epochs <= 1 else None)
        self._warmup.append(block)
        self._fastest_s = min(self._fastest_s, _computing(block))
        self._step_s = max(_per_step(block), 1e-9)
        units = math.ceil(self._window.block_s / (self._step_s * self._unit) - 1e-9)
        self._n_block = self._unit * max(1, min(units, GROWTH * math.ceil(n_steps / self._unit)))
        self._emit("warmup", **vars(block))
        return block

    def _is_steady(self, last: Block) -> bool:
        n_steps = sum(block.steps for block in self._warmup)
        used_up = n_steps >= self._n_prefetched + self._unit
        full = last.seconds >= self._window.block_s / 2
        before = max(_per_step(block) for block in self._warmup[1:][-3:-1])
        fell = _per_step(last) < SETTLED * before
        return used_up and full and not fell and not self._compiling(last) and self._queue_rests()

    def _queue_rests(self) -> bool:
        ready = self._feed.n_ready()
        if ready is None:
            return True
        return ready <= self._unit or ready >= self._n_prefetched - self._unit

    def _compiling(self, block: Block) -> bool:
        return _computing(block) > COMPILING * self._fastest_s

    def _finish_epoch(self) -> None:
        while self._feed.n_in_epoch < (self._feed.n_epoch_steps or 0):
            self._step(self._feed.next())

    # The timed part

    def _time(self) -> list[Block]:
        window = self._window
        blocks: list[Block] = []
        seconds = 0.0
        self._other_cpu_share()
        while seconds < window.max_s or len(blocks) < MIN_BLOCKS:
            if seconds > 2 * window.max_s:
                if blocks:
                    break
                self._whole_epochs = True  # every block was cut by a border
                self._finish_epoch()
            epoch = self._feed.n_epochs
            block = self._block(self._epoch_steps() if self._whole_epochs else self._n_block)
            seconds += block.seconds
            if not self._whole_epochs and self._feed.n_epochs != epoch:
                self._refill(block)
                continue
            blocks.append(block)
            self._emit("block", **vars(block))
            enough = seconds >= window.min_s and len(blocks) >= MIN_BLOCKS
            if enough and steady_rate(blocks).precision <= window.precision:
                break
        return blocks

    def _block(self, n_steps: int, waits: list[float] | None = None) -> Block:
        feed, step, count = self._feed, self._step, self._count
        n_samples = 0
        loss = None
        self._synchronize()
        wait = feed.wait_s
        start = self._clock()
        overdue = start + OVERDUE * self._window.block_s
        for done in range(1, n_steps + 1):
            batch = feed.next()
            if waits is not None:
                waits.append(feed.last_wait_s)
            loss = step(batch)
            n_samples += count(batch)
            if feed.now > overdue and self._may_end(done):
                n_steps = done
                break
        self._synchronize()
        seconds = self._clock() - start
        n_samples = int(n_samples)  # a user's count may be a tensor
        if n_samples < 1:
            raise InvalidTrial(
                f"{n_steps} steps had {n_samples} samples by Workload.n_samples; it has to return "
                "the number of samples in a batch"
            )
        value = None if loss is None else float(loss)
        if value is not None and not math.isfinite(value):
            raise Diverged(f"the loss became {value} with these settings")
        return Block(
            n_steps,
            n_samples,
            seconds,
            feed.wait_s - wait,
            self._other_cpu_share(),
            value,
            feed.n_ready(),
        )

    def _may_end(self, n_steps: int) -> bool:
        if self._whole_epochs:
            return self._feed.n_in_epoch == self._feed.n_epoch_steps
        return n_steps % self._unit == 0

    def _refill(self, cut: Block) -> None:
        # After an epoch's border the first batches come out of a queue that filled on its own.
        if cut.data_wait_s > LOADER_BOUND * cut.seconds:
            for _ in range(self._n_prefetched + self._unit):
                self._step(self._feed.next())

    def _epoch_s(self) -> float:
        return (self._feed.n_epoch_steps or math.inf) * self._step_s

    def _epoch_steps(self) -> int:
        epochs = max(1, math.ceil(self._window.block_s / self._epoch_s()))
        return epochs * (self._feed.n_epoch_steps or 1)

    # What is measured on its own

    def _compile_s(self) -> float:
        slow = [b for b in self._warmup if self._compiling(b)]
        return sum((_computing(b) - self._fastest_s) * b.steps for b in slow)

    def _epoch_start_s(self, blocks: list[Block]) -> float:
        n_steps = sum(b.steps for b in blocks)
        if self._whole_epochs or not n_steps:
            return 0.0
        steady_wait_s = sum(b.data_wait_s for b in blocks) / n_steps
        first = self._first_waits[: self._n_prefetched + self._unit]
        cost = max(0.0, sum(first) - len(first) * steady_wait_s)
        if self._persistent and cost > EPOCH_START_MATTERS * self._epoch_s():
            # The first epoch started the workers, the later ones find them there.
            self._feed.restart()
            before = self._feed.wait_s
            self._feed.next()
            cost = max(0.0, self._feed.wait_s - before - steady_wait_s)
        return cost


def _per_step(block: Block) -> float:
    return block.seconds / block.steps


def _computing(block: Block) -> float:
    return (block.seconds - block.data_wait_s) / block.steps
