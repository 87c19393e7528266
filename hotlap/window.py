"""The timed window of one trial: warm up until steady, then time blocks of steps.

What keeps the number honest (each rule has a test):

- The device is looked at where blocks meet only, and with a further step queued behind: not at all
  would time the queueing of kernels, a wait at each step or each block would take away the overlap
  that training has.
- A block is a whole multiple of `num_workers` steps, because workers deliver in bursts.
- The first `num_workers * prefetch_factor` batches may have been fetched while a slow first step
  ran, so warm-up lasts until they are used up, the loader's queue is full or empty but not on its
  way, and block times no longer fall. What is left of them then is thrown away (first_queue.py).
- An epoch's start costs its own time. Where whole epochs fit into the window, or hardly a block
  between two borders, a block is a whole number of epochs; elsewhere whole blocks fill the room
  between two borders, and the border's cost is measured on its own (`epoch_start_s`).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Generator

from hotlap.block_timer import BlockTimer, Mark, Trained, TrainingEnded
from hotlap.ended_early import EndedEarly
from hotlap.epoch_start import ROUNDS, EpochStart, Steady
from hotlap.feed import Clock, FeedState
from hotlap.first_queue import FirstQueue
from hotlap.fitting import fitting
from hotlap.job import Window
from hotlap.measurement import Block
from hotlap.warm_up import WarmUp
from hotlap.window_end import is_over, rests

EPOCHS_IN_WINDOW = 3
"""With at least so many epochs in a window, blocks are whole epochs."""

Emit = Callable[..., None]


class WindowTimer:
    """Times the training of one trial and emits what it sees as events.

    Args:
        feed: Where the batches come from.
        window: How long to warm up and to time.
        num_workers: Loader workers; blocks are whole multiples of it.
        persistent: Whether they live on from epoch to epoch.
        n_prefetched: Batches that may have been fetched before the first step ended.
        n_held: Batches that come by turns, where they are kept in memory; blocks are whole
            multiples of it too, so that none of them weighs more than another.
        emit: Called as emit("block", ...); see hotlap/job.py for the events.
        synchronize: Waits for the device.
        mark: Marks a point in the device's queue, where a device works beside the host.
        other_cpu_share: CPU used by others since its last call, 0..1.
        usage: What the trial holds now, by the names of Block's fields; asked between blocks.
        clock: Seconds; another clock lets tests construct time.
        pause: Sleeps for so many seconds, by the same clock.
    """

    def __init__(
        self,
        feed: FeedState,
        window: Window,
        *,
        num_workers: int = 0,
        persistent: bool = False,
        n_prefetched: int = 0,
        n_held: int = 1,
        emit: Emit,
        synchronize: Callable[[], None] = lambda: None,
        mark: Mark | None = None,
        other_cpu_share: Callable[[], float] = lambda: 0.0,
        usage: Callable[[], dict[str, int | None]] = dict,
        clock: Clock = time.perf_counter,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._feed = feed
        self._window = window
        self._n_workers = max(1, num_workers)
        self._unit = max(self._n_workers, n_held)
        self._timer = BlockTimer(
            feed,
            block_s=window.block_s,
            n_prefetched=n_prefetched,
            synchronize=synchronize,
            mark=mark,
            other_cpu_share=other_cpu_share,
            usage=usage,
            clock=clock,
        )
        self._n_prefetched = n_prefetched
        self._n_refilled = n_prefetched + self._unit  # steps after a border, and it is as before
        self._emit = emit
        self._other_cpu_share = other_cpu_share
        self._clock = clock
        self._warmup = WarmUp(window.block_s, self._unit, n_prefetched)
        self._start = EpochStart(
            feed,
            n_workers=self._n_workers,
            persistent=persistent,
            n_prefetched=n_prefetched,
            max_s=window.waits_s,
            pause=pause,
        )
        self._first = FirstQueue(feed, self._n_workers, n_prefetched)
        self._whole_epochs = self._settled = self._is_warm = False
        self._blocks: list[Block] = []

    def run(self) -> Generator[None, Trained, list[Block]]:
        """Warm up, then time: each `yield` asks for one more step, see hotlap/drive.py.

        Returns:
            The window's blocks.

        Raises:
            Diverged: The loss is not finite at a block's end.
            InvalidTrial: The loader gives no batch.
        """
        self._running = self._run()
        return self._running

    def _run(self) -> Generator[None, Trained, list[Block]]:
        yield from self._warm_up()
        self._is_warm = True
        blocks = yield from self._time()
        start_s = 0.0
        if not self._whole_epochs:
            start_s = yield from self._start.measured_s(self._steady())
        self._timed(start_s)
        return blocks

    def cut_short(self, at_s: float | None = None) -> bool:
        """Training has ended by itself: let the blocks so far be the window, if there are any.

        If it has ended in the warm-up, all after its first two steps counts: better a rate with a
        doubt than none.

        Args:
            at_s: The clock when the last step was done; None if a device may still be at work, and
                then the block that is open is thrown away.

        Raises:
            Diverged: The loss is not finite at the end.
            InvalidTrial: Each batch that would count was ready before.
        """
        if self._blocks:
            self._timed(0.0 if self._whole_epochs else self._start.shown_s(self._steady()))
            return True
        if at_s is not None and not self._is_warm:
            self._end_open_block(at_s)
        early = EndedEarly.of(self._warmup.blocks, self._feed.n_epoch_steps)
        if early is None:
            return False
        early.require_a_pace(self._n_workers, self._n_prefetched)
        self._whole_epochs = False  # no block of the warm-up is one
        self._emit("warm", warmup_s=0.0, reason="ended", compile_s=self._warmup.compile_s)
        for block in early.blocks:
            self._blocks.append(block)
            self._emit("block", **vars(block))
        self._timed(early.start_s(self._start, self._steady()), early.n_borders > 0)
        return True

    def _end_open_block(self, at_s: float) -> None:
        ended = TrainingEnded(at_s)
        with contextlib.suppress(TrainingEnded):
            self._running.throw(ended)
        if ended.block is not None:
            self._warmup.add(ended.block)
            self._emit("warmup", **vars(ended.block))

    def _timed(self, epoch_start_s: float, met_border: bool = False) -> None:
        vague = not met_border and self._start.is_vague(self._steady())
        self._emit(
            "timed",
            compile_s=self._warmup.compile_s,
            epoch_start_s=epoch_start_s,
            epoch_start_known=self._whole_epochs or not vague,
            epochs_in_blocks=self._whole_epochs,
            n_epoch_steps=self._feed.n_epoch_steps,
        )

    # Warm-up

    def _warm_up(self) -> Generator[None, Trained, None]:
        start = self._clock()
        warm_up = self._warmup
        reason = "cap"
        # Whatever the cap: the first step is start-up, and the window's blocks are whole ones.
        while (
            not warm_up.blocks
            or warm_up.n_next % self._unit
            or warm_up.worked_s < self._window.max_warmup_s
        ):
            block = yield from self._timer.drained(warm_up.n_next, self._unit)
            warm_up.add(block)
            self._emit("warmup", **vars(block))
            if warm_up.is_steady(self._feed.n_ready(), self._feed.n_left()):
                reason = "settled"
                break
        self._settled = reason == "settled"
        fit = self._epoch_s() * EPOCHS_IN_WINDOW <= self._window.waits_s
        waits = warm_up.blocks[-1].waits
        self._whole_epochs = (fit or self._is_cut_up(waits)) and not self._feed.endless
        if self._whole_epochs:
            yield from self._finish_first_epoch()
        elif self._first.may_serve(warm_up.blocks):
            yield from self._leave_first_queue()
        self._emit(
            "warm",
            warmup_s=self._clock() - start,
            reason=reason,
            compile_s=warm_up.compile_s,
        )

    def _finish_first_epoch(self) -> Generator[None, Trained, None]:
        # Its queue filled while the first step was slow, so that its rest is no part of a whole
        # epoch. From the second one on they may begin anywhere: each meets one border.
        feed = self._feed
        while feed.n_epochs < 2 and feed.n_in_epoch < (feed.n_epoch_steps or 0):
            yield

    def _leave_first_queue(self) -> Generator[None, Trained, None]:
        if (yield from self._first.left(self._warmup.n_next, self._warmup.step_s)):
            cut = yield from self._timer.drained(self._n_over_border(), self._unit)
            yield from self._refill(cut)

    # The timed part

    def _time(self) -> Generator[None, Trained, list[Block]]:
        window = self._window
        blocks = self._blocks
        seconds = 0.0
        self._other_cpu_share()
        while not is_over(window, blocks, seconds, self._settled, self._rests):
            if seconds > 2 * window.waits_s:
                if blocks:
                    break
                self._whole_epochs = True  # no block came between two borders
                self._timer.let_go()
                yield from self._finish_first_epoch()
            epoch = self._feed.n_epochs
            self._whole_epochs &= not self._feed.endless
            yield from self._timer.begin()
            if self._whole_epochs:
                n_steps, unit = self._epoch_steps(), self._feed.n_epoch_steps or 1
            else:
                n_steps, unit = fitting(self._warmup.n_next, self._unit, self._room()), self._unit
            block = yield from self._timer.in_flight(n_steps or self._n_over_border(), unit)
            seconds += block.seconds
            if not self._whole_epochs and self._feed.n_epochs != epoch:
                yield from self._refill(block)
            elif n_steps:  # else no border came, where one was to be passed
                blocks.append(block)
                self._emit("block", **vars(block))
        return blocks

    def _room(self) -> float:
        """Steps that blocks may have before the epoch's border; inf if nobody knows where that is.

        Towards an epoch's end the workers make nothing more, and steps that share the cores with
        them get faster: that is left out, where it is shorter than a block and leaves room for one.
        """
        left, n_next = self._feed.n_left(), self._warmup.n_next
        if self._feed.endless or left < 0:
            return math.inf
        n_rested = (self._feed.n_epoch_steps or 0) - self._n_refilled - self._n_prefetched
        return left - self._n_prefetched if self._n_prefetched <= n_next <= n_rested else left

    def _n_over_border(self) -> int:
        """Steps until an epoch's border is passed, and has cost what it costs."""
        n_left, n_after = self._feed.n_left(), min(ROUNDS * self._n_workers, self._most_left_out)
        return int(n_left) + max(1, n_after)

    @property
    def _most_left_out(self) -> int:
        """After a border: what is left of the epoch has room for a block."""
        return (self._feed.n_epoch_steps or 0) - self._warmup.n_next

    def _rests(self) -> bool:
        return self._whole_epochs or rests(
            self._blocks,
            self._warmup.blocks[-1],
            n_workers=self._n_workers,
            n_prefetched=self._n_prefetched,
            precision=self._window.precision,
        )

    def _refill(self, cut: Block) -> Generator[None, Trained, None]:
        # After an epoch's border the first batches come out of a queue that filled on its own.
        if not cut.waits:
            self._start.has_shown()
            return
        self._timer.let_go()
        if not self._blocks and self._is_cut_up(waits=True):
            self._whole_epochs = True
            yield from self._finish_first_epoch()
            return
        yield from self._start.passed(self._most_left_out)
        for _ in range(min(self._n_refilled, self._most_left_out) - self._feed.n_in_epoch):
            yield

    def _is_cut_up(self, waits: bool) -> bool:
        """Whether an epoch has no room for two blocks between borders after which the loader waits.

        Then three blocks take as many epochs, of which much is left out. Epochs longer than the
        window, or in which nothing would be heard for long, are not timed whole.
        """
        n_between = (self._feed.n_epoch_steps or 0) - (self._n_refilled if waits else 0)
        most_s = min(self._window.waits_s, self._window.silence_s / 4)
        return self._epoch_s() <= most_s and n_between < 2 * self._warmup.n_next

    def _epoch_s(self) -> float:
        return (self._feed.n_epoch_steps or math.inf) * self._warmup.step_s

    def _epoch_steps(self) -> int:
        epochs = max(1, math.ceil(self._window.block_s / self._epoch_s()))
        return epochs * (self._feed.n_epoch_steps or 1)

    def _steady(self) -> Steady:
        return Steady.of(self._warmup.blocks[0], self._blocks)
