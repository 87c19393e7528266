"""The window of a script's trial: its own training is timed, then the trial ends."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import torch

from hotlap.block_timer import Trained
from hotlap.device_mark import DeviceMark
from hotlap.device_stalls import DeviceStalls
from hotlap.device_wait import AT_ONCE, device_wait
from hotlap.drive import drive
from hotlap.errors import InvalidTrial
from hotlap.feed import Feed, FeedState
from hotlap.interpose.listener import Listener
from hotlap.interpose.reach import unreached
from hotlap.measurement import Block
from hotlap.resources import OtherCpu, Usage, peak_host_bytes
from hotlap.script.follower import ScriptFollower
from hotlap.script.heard import Heard
from hotlap.script.holding import Holding
from hotlap.sides import compute_nothing
from hotlap.toolchain import device_uuid
from hotlap.training import PassSize, length
from hotlap.window import WindowTimer
from hotlap.window_skips import WindowSkips

AGAIN = 3
"""What is left out so many times comes again and again."""


class Timer(ScriptFollower):
    """Times the units of a script, or one of its sides alone (see hotlap/sides.py)."""

    _timer: WindowTimer | None = None
    _timing: Generator[None, Trained, list[Block]]
    _device: torch.device
    _skips: WindowSkips
    _holding: Holding | None = None
    _startup_s = 0.0
    _own_batches: tuple[float, float, int] | None = None  # since when, and left out before

    @property
    def listener(self) -> Listener:
        """Hears the units, and holds batches where the model is timed alone."""
        if self.job.side == "compute":
            self._holding = Holding(self.units)
        return Heard(self._holding or self.units, self)

    def begin(self, loader: Any) -> None:
        """Training has begun: begin the warm-up.

        It begins where the first unit did, and what hotlap has done since is no part of it.
        """
        clock = self.units.clock
        now = clock.now()
        self._startup_s = time.monotonic() - self.started - (now - clock())
        self.ending.guard(lambda: self._begin(loader))
        clock.left_out_s += clock.now() - now + self.interposition.looked_s
        if loader is None:
            self.alone()

    def alone(self) -> None:
        """The script has no loader, or asks it for nothing more."""
        clock = self.units.clock
        self._own_batches = clock.now(), clock.left_out_s, clock.n_left_out

    def done(self, n_samples: int, loss: Any, batch: Any) -> None:
        """One more unit."""
        if self._timer is None:
            holding = self._holding
            assert holding is not None, "nothing else waits with the warm-up"
            if holding.keep(batch):
                self.ending.guard(lambda: self._time(holding.loader))
            return
        try:
            self._timing.send((n_samples, loss))
        except StopIteration:
            self.ending.guard(self._finish)
        except BaseException as error:
            self.ending.fail(error)

    def script_ended(self) -> None:
        """Take what there is."""
        if self._timer is None or not self._timer.cut_short(self._ended_at()):
            super().script_ended()
        self._finish()

    def _ended_at(self) -> float | None:
        """The units' clock when the last one was done; None if a device may still be at it."""
        return self.units.done_at if self._device.type in AT_ONCE else None

    def _begin(self, loader: Any) -> None:
        self._device = self.device
        if self.job.side != "both" and loader is None:
            raise InvalidTrial("there is no DataLoader in the script to measure alone")
        if self._holding is not None:
            self._holding.loader = loader
        elif self.job.side == "loader":
            self._drive(loader)
        else:
            self._time(loader)

    def _time(self, loader: Any) -> None:
        """Time the script's own training from here on."""
        alone = self.job.side == "compute"
        n_workers = 0 if loader is None or alone else loader.num_workers
        if self._device.type == "cuda" and loader is not None and not alone:
            self.units.taken.stalls = DeviceStalls(self._device)
        self._timer = self._made(self.units.taken, loader, n_workers)
        self._timing = self._timer.run()
        next(self._timing)

    def _drive(self, loader: Any) -> None:
        """Go through the loader; the script waits, and is ended afterwards."""
        self.interposition.listen_no_more()
        feed = Feed(loader, length(loader))
        timer = self._made(feed, loader, loader.num_workers)
        sizes = PassSize(loader)
        drive(timer.run(), compute_nothing, feed, lambda batch: sizes.of(0, batch))
        self._finish()

    def _made(self, feed: FeedState, loader: Any, n_workers: int) -> WindowTimer:
        device, side = self._device, self.job.side
        counts = self.skips.asked_and_skipped
        self._skips = WindowSkips(self.emit, counts, "the script's own GradScaler")
        self.emit(
            "built",
            startup_s=self._startup_s,
            device=str(device),
            device_uuid=device_uuid(device),
            tokens_per_sample=None,
            num_workers=n_workers,
            n_epoch_steps=None if side == "compute" else length(loader),
            side=side,
            resident=False,
            notes=[*self.interposition.notes, *self._not_in_force()],
        )
        cuda = device.type == "cuda"
        return WindowTimer(
            feed,
            self.job.window,
            num_workers=n_workers,
            persistent=n_workers > 0 and loader.persistent_workers,
            n_prefetched=n_workers * (getattr(loader, "prefetch_factor", None) or 0),
            n_held=self._holding.n_held if self._holding is not None else 1,
            emit=self._skips,
            synchronize=device_wait(device),
            mark=DeviceMark(device) if cuda and side != "loader" else None,
            other_cpu_share=OtherCpu(),
            usage=Usage((lambda: torch.cuda.memory_allocated(device)) if cuda else None),
            clock=time.perf_counter if side == "loader" else self.units.clock,
        )

    def _left_out_share(self) -> float:
        """Of a script's time without a loader, what was left out, if that comes again and again.

        Its model was called there without gradients: an evaluation, or the rollouts of
        reinforcement learning, which nothing tells apart.
        """
        if self._own_batches is None:
            return 0.0
        clock = self.units.clock
        began, left_out_s, n_left_out = self._own_batches
        seconds = clock.now() - began
        if clock.n_left_out - n_left_out < AGAIN or seconds <= 0.0:
            return 0.0
        return (clock.left_out_s - left_out_s) / seconds

    def _not_in_force(self) -> list[dict[str, str]]:
        told = {note["setting"] for note in self.interposition.notes}
        notes = unreached(self.imposed, self.seen)
        return [note for note in notes if note["setting"] not in told]

    def _finish(self) -> None:
        n_skipped = self._skips.n_skipped()
        cuda = self._device.type == "cuda"
        self.ending.answer(
            "finished",
            peak_device_bytes=torch.cuda.max_memory_reserved(self._device) if cuda else None,
            peak_host_bytes=peak_host_bytes(),
            n_skipped_steps=n_skipped,
            left_out_share=self._left_out_share(),
        )
