"""BlockTimer: times one block of steps after another.

Where the host computes itself, a block is what lies between two readings of the clock. A device
works beside the host; there the clock has to follow the device, which can be done in two ways:

- **Drained**: wait for the device before and after. The block then begins with an idle device, so
  that what the host does before the first kernel (loading a batch in its own process) shows once in
  each block, while in training it is hidden behind the device's work.
- **In flight**: one more step is queued behind the block's last one, and the clock is read when the
  device comes to the border between the two. It never runs dry, and the next block begins where
  this one ends; what is looked at between two blocks is the next one's time.

A warm-up is drained, because its first step is measured alone. A window is in flight.

Who trains is not known here: each `yield` asks for one more step, and gets what came of it. A
workload is driven by its own loop (hotlap/window.py); a script goes its own way, and says when it
has done a step (hotlap/training/units.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, NamedTuple

from hotlap.errors import Diverged, InvalidTrial
from hotlap.feed import Clock, FeedState
from hotlap.measurement import Block

CATCHES_UP = 4
"""So often at most a first border in flight is looked for at which the host is ahead."""

CATCHES_UP_BLOCKS = 8.0
"""And no further one after so many times `block_s`, in which nothing is timed."""

AT_ONCE = 0.01
"""A wait that takes no more than this share of the steps before it is none."""

OVERDUE = 4.0
"""A block is ended early once it takes so many times `block_s`: on a machine with neighbours the
same step may suddenly take a hundred times longer."""

Mark = Callable[[Any], Callable[[], Any]]
"""`mark(loss)` marks the end of the step with that loss in the device's queue; what it returns
waits until the device comes there, and gives the loss in host memory."""


Trained = tuple[int, Any]
"""One step done: the samples of its batch, and the loss, not synchronized, or None."""


class TrainingEnded(Exception):
    """Thrown in where a step is asked for: there is none any more.

    Args:
        at_s: The clock when the last one was done.

    Attributes:
        block: What was done of the block that was open; None if there is nothing of one.
    """

    def __init__(self, at_s: float) -> None:
        super().__init__()
        self.at_s = at_s
        self.block: Block | None = None


class Border(NamedTuple):
    """Where one block ends and the next one begins.

    Attributes:
        at_s: The clock there.
        wait_s: The feed's waiting until then.
        loss: Of the last step before it.
        n_samples: Of the step that is queued behind it already; 0 if there is none.
        queued: That step's loss.
        stalled_s: What the device has stood still in waits until then, None if it is not watched.
    """

    at_s: float
    wait_s: float
    loss: Any = None
    n_samples: int = 0
    queued: Any = None
    stalled_s: float | None = None


class BlockTimer:
    """Times blocks of steps.

    Args:
        feed: Where the batches come from.
        block_s: About how long a block is.
        n_prefetched: Batches that the loader's full queue holds.
        synchronize: Waits for the device.
        mark: Where a device works beside the host; None where it does not, or cannot be marked:
            then every block is drained.
        other_cpu_share: CPU used by others since its last call, 0..1.
        usage: What the trial holds now, by the names of Block's fields.
        clock: Seconds.
    """

    def __init__(
        self,
        feed: FeedState,
        *,
        block_s: float,
        n_prefetched: int,
        synchronize: Callable[[], None],
        mark: Mark | None,
        other_cpu_share: Callable[[], float],
        usage: Callable[[], dict[str, int | None]],
        clock: Clock,
    ) -> None:
        self._feed = feed
        self._block_s = block_s
        self._n_prefetched = n_prefetched
        self._synchronize = synchronize
        self._mark = mark
        self._other_cpu_share = other_cpu_share
        self._usage = usage
        self._clock = clock
        self._border: Border | None = None

    def drained(self, n_steps: int, unit: int) -> Generator[None, Trained, Block]:
        """Time `n_steps` between two waits for the device.

        Args:
            n_steps: Steps; fewer if they take too long.
            unit: But a whole multiple of so many even then.

        Raises:
            Diverged: The last loss is not finite.
            InvalidTrial: The loader gives no batch, or its batches have no samples.
        """
        self._synchronize()
        begin = self._here()
        n_steps, n_samples, loss = yield from self._train(1, n_steps, unit, begin)
        self._synchronize()
        end = self._here(loss)
        return self._block(n_steps, n_samples, begin, end, self._feed.n_taken)

    def begin(self) -> Generator[None, Trained, Border | None]:
        """Train to where the next block in flight begins, which takes steps if none ended there.

        Returns:
            That border; None if blocks are drained.
        """
        if self._border is None and self._mark is not None:
            self._border = yield from self._first_border(self._mark)
        return self._border

    def in_flight(self, n_steps: int, unit: int) -> Generator[None, Trained, Block]:
        """As `drained`, but the device never runs dry."""
        begin = yield from self.begin()
        if self._mark is None or begin is None:
            return (yield from self.drained(n_steps, unit))
        n_steps, n_samples, loss = yield from self._train(2, n_steps, unit, begin)
        self._border = end = yield from self._queue_behind(self._mark(loss))
        return self._block(n_steps, n_samples, begin, end, self._feed.n_taken - 1)

    def let_go(self) -> None:
        """Other steps follow: the next block in flight begins with a border of its own."""
        self._border = None

    def _first_border(self, mark: Mark) -> Generator[None, Trained, Border]:
        """A border that the device passes while the host waits for it.

        The device was idle, so that at first it may pass a border while the host still queues the
        step behind it: read then, the clock is late, and the block would seem shorter than it is.
        Where the host is slower than the device each border is like that, and rightly; so it is
        where the device waits for batches, which shows at once.
        """
        started_s = self._clock()
        for _ in range(CATCHES_UP):
            _, loss = yield
            passed, stalled_s = mark(loss), self._feed.stalled_s() or 0.0
            n_samples, queued = yield
            before_s = self._clock()
            border = self._here(passed(), n_samples, queued)
            took_s = before_s - started_s
            ahead = border.at_s - before_s > AT_ONCE * took_s
            starves = (border.stalled_s or 0.0) - stalled_s > AT_ONCE * took_s
            if ahead or starves or took_s > CATCHES_UP_BLOCKS * self._block_s:
                break
        return border

    def _train(
        self, first: int, last: int, unit: int, begin: Border
    ) -> Generator[None, Trained, tuple[int, int, Any]]:
        """Train from the `first` step of a block to the `last`.

        Returns:
            Steps of the block, their samples and the last one's loss; what was queued already is
            in them.
        """
        # Runs at each step, and a step may take half a millisecond: hardly a line too many.
        feed = self._feed
        n_samples, loss = begin.n_samples, begin.queued
        overdue = begin.at_s + OVERDUE * self._block_s
        done = first
        try:
            for done in range(first, last + 1):
                n, loss = yield
                n_samples += n
                if feed.now > overdue and done % unit == 0:
                    return done, n_samples, loss
        except TrainingEnded as ended:
            if done > 1 and ended.at_s > begin.at_s:
                end = Border(ended.at_s, feed.wait_s, loss, stalled_s=feed.stalled_s())
                block = self._block(done - 1, n_samples, begin, end, feed.n_taken)
                ended.block = replace(block, n_ready=None)  # the queue has filled since then
            raise
        return last, n_samples, loss

    def _queue_behind(self, passed: Callable[[], Any]) -> Generator[None, Trained, Border]:
        n_samples, queued = yield
        return self._here(passed(), n_samples, queued)

    def _here(self, loss: Any = None, n_samples: int = 0, queued: Any = None) -> Border:
        at_s, feed = self._clock(), self._feed
        return Border(at_s, feed.wait_s, loss, n_samples, queued, feed.stalled_s())

    def _block(self, n_steps: int, n_samples: int, begin: Border, end: Border, at: int) -> Block:
        n_samples = int(n_samples)  # a user's count may be a tensor
        if n_samples < 1:
            raise InvalidTrial(
                f"{n_steps} steps had {n_samples} samples by Workload.n_samples; it has to return "
                "the number of samples in a batch"
            )
        loss = _value(end.loss)
        if loss is not None and not math.isfinite(loss):
            raise Diverged(f"the loss became {loss} with these settings")
        feed = self._feed
        before_s, after_s = begin.stalled_s, end.stalled_s
        return Block(
            n_steps,
            n_samples,
            end.at_s - begin.at_s,
            end.wait_s - begin.wait_s,
            self._other_cpu_share(),
            loss,
            # Towards an epoch's end the queue gets shorter because there is no more to ask for.
            feed.n_ready() if feed.n_left() >= self._n_prefetched else None,
            at_step=at,
            stalled_s=None if before_s is None or after_s is None else after_s - before_s,
            **self._usage(),
        )


def _value(loss: Any) -> float | None:
    """The loss as a number: a tensor's gradient is none of ours, and torch warns of it."""
    if loss is None:
        return None
    return float(loss.detach() if hasattr(loss, "detach") else loss)
