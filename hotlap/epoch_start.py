"""What an epoch's start costs: workers that start or wake up, and a queue that is empty again.

Measured at a border, because the first epoch tells too little: its workers are started for good if
they are persistent, and while its first step compiles they fetch ahead, so that the waiting which
every later epoch begins with does not show. A workload's border is made on purpose after the
window. A script makes its own: those count that the window meets.

What a device still has to do meanwhile is not taken off: a step, seldom more.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from hotlap.block import Block
from hotlap.block_timer import Trained
from hotlap.feed import FeedState
from hotlap.measurement import LOADER_BOUND

ROUNDS = 2
"""So many batches of each worker are waited for; from then on they come as they always do."""

PATIENCE = 2.0
"""A queue that is not full after so many times the steps' time that it holds never will be."""

POLL_SHARE = 0.1
"""Of a step's time between two looks at the queue."""

MATTERS = 0.005
"""Below this share of an epoch the wait for the first batch of all is as good as its start."""

VAGUE = 0.02
"""Above this share of an epoch a guess at its start is not good enough."""


class Steady(NamedTuple):
    """What the steps before a border took.

    Attributes:
        first_wait_s: Waiting for the very first batch.
        wait_s: Waiting for data in a steady step.
        step_s: A steady step.
    """

    first_wait_s: float
    wait_s: float
    step_s: float

    @classmethod
    def of(cls, first: Block, blocks: Sequence[Block]) -> Steady:
        """From the first block of the warm-up and all of the window, one at least."""
        n_steps = sum(b.steps for b in blocks)
        wait_s, seconds = sum(b.data_wait_s for b in blocks), sum(b.seconds for b in blocks)
        return cls(first.data_wait_s, wait_s / n_steps, seconds / n_steps)


class EpochStart:
    """By how many seconds an epoch's first steps take longer than as many steady ones.

    Args:
        feed: Where the batches come from.
        n_workers: Loader workers, at least 1: without workers the process itself is one.
        persistent: Whether they live on from epoch to epoch.
        n_prefetched: Batches that the loader's full queue holds.
        max_s: No longer than that is waited for a full queue, or for a border.
        pause: Sleeps for so many seconds.
    """

    def __init__(
        self,
        feed: FeedState,
        *,
        n_workers: int,
        persistent: bool,
        n_prefetched: int,
        max_s: float,
        pause: Callable[[float], None],
    ) -> None:
        self._feed = feed
        self._n_workers = n_workers
        self._persistent = persistent
        self._n_prefetched = n_prefetched
        self._max_s = max_s
        self._pause = pause
        self._borders: list[tuple[float, int]] = []  # waits after one, and in how many steps

    # Each `yield` asks for one more step, as in hotlap/block_timer.py.

    def passed(self, most: float = math.inf) -> Generator[None, Trained, None]:
        """An epoch's border was passed: train on until its cost has shown.

        Batches come in rounds, one of each worker, so whole rounds are waited for.

        Args:
            most: But no further than to this step of the epoch.
        """
        epoch, n_in_epoch = self._feed.n_epochs, self._feed.n_in_epoch
        rounds = max(ROUNDS, math.ceil(n_in_epoch / self._n_workers))
        for _ in range(int(min(rounds * self._n_workers, most)) - n_in_epoch):
            yield
        if self._feed.n_epochs == epoch:  # else the next border is in the same waits
            self.has_shown()

    def has_shown(self) -> None:
        """By now the last border has cost what it costs."""
        feed = self._feed
        self._borders.append((feed.wait_s - feed.wait_before_s, feed.n_in_epoch))

    def measured_s(self, steady: Steady) -> Generator[None, Trained, float]:
        """The seconds, after a border has been made or met if that is worth it."""
        if self._feed.restarts:
            if steady.first_wait_s > MATTERS * self._epoch_s(steady):
                return (yield from self._at_a_new_border(steady))
        elif self.is_vague(steady) and self._feed.n_left() * steady.step_s <= self._max_s:
            epoch = self._feed.n_epochs
            for _ in range(int(self._feed.n_left()) + 1):
                yield
            if self._feed.n_epochs > epoch:
                yield from self.passed()
        return self.shown_s(steady)

    def shown_s(self, steady: Steady) -> float:
        """The seconds, as far as training has shown them by itself; 0 if no epoch ends.

        Borders tell them. Without one there is the very first batch: it came when the workers had
        started and one of them had made it, and of that a round of steady steps waits for a part
        as well. Workers that persist only make it.
        """
        if self._feed.endless:
            return 0.0
        if self._borders:
            found = [wait_s - n * steady.wait_s for wait_s, n in self._borders]
            return max(0.0, statistics.median(found))
        first_s = max(0.0, steady.first_wait_s - self._n_workers * steady.wait_s)
        if not self._persistent:
            return first_s
        return min(first_s, self._round_s(steady))

    def is_vague(self, steady: Steady) -> bool:
        """Whether `shown_s` is no more than a bound from above, and a large one."""
        bound = self._persistent and not self._feed.restarts and not self._borders
        return bound and self.shown_s(steady) > VAGUE * self._epoch_s(steady)

    # Within

    def _epoch_s(self, steady: Steady) -> float:
        return (self._feed.n_epoch_steps or math.inf) * steady.step_s

    def _at_a_new_border(self, steady: Steady) -> Generator[None, Trained, float]:
        feed = self._feed
        is_full = self._let_queue_fill(steady.step_s)
        if (owed_s := self._owed_s(steady)) is None:
            return self.shown_s(steady)
        before = feed.wait_s
        feed.restart()
        n_steps = min(ROUNDS * self._n_workers, feed.n_epoch_steps or ROUNDS * self._n_workers)
        for _ in range(n_steps):
            yield
        cost_s = max(0.0, feed.wait_s - before - n_steps * steady.wait_s - owed_s)
        # What was in the making is in it too, where steps take seconds, and no epoch ends so.
        return min(cost_s, self._round_s(steady)) if self._persistent and not is_full else cost_s

    def _round_s(self, steady: Steady) -> float:
        """Seconds that a round of steps computes: workers that persist make no epoch wait longer.

        Else steady steps would wait.
        """
        return self._n_workers * max(0.0, steady.step_s - steady.wait_s)

    def _owed_s(self, steady: Steady) -> float | None:
        """What workers that persist still have to make of this epoch.

        They do that first; at an epoch's own end they owe nothing. Where the loader binds, a step
        takes as long as a batch; else nobody knows what one takes, and it is None.
        """
        ready = self._feed.n_ready()
        if not self._persistent or ready is None:
            return 0.0
        asked = min(self._n_prefetched, self._feed.n_left())
        # One a worker is in the making at an epoch's end, too.
        owed = max(0.0, asked - ready - self._n_workers)
        if owed and steady.wait_s <= LOADER_BOUND * steady.step_s:
            return None
        return owed * steady.step_s

    def _let_queue_fill(self, step_s: float) -> bool:
        """Whether it is full then, or nobody knows."""
        # Workers that still owe batches would make them first; at an epoch's own end they owe none.
        feed, n_full = self._feed, self._n_prefetched
        left = min(PATIENCE * n_full * step_s, self._max_s)
        while (ready := feed.n_ready()) is not None and ready < n_full:
            if left <= 0:
                return False
            self._pause(POLL_SHARE * step_s)
            left -= POLL_SHARE * step_s
        return True
