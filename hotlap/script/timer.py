"""The window of a script's trial: its own training is timed, and the trial ends when that is done."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import torch

from hotlap.block_timer import Trained
from hotlap.device_mark import DeviceMark
from hotlap.interpose.pass_size import length
from hotlap.interpose.reach import unreached
from hotlap.measurement import Block
from hotlap.resources import OtherCpu, Usage, peak_host_bytes
from hotlap.script.follower import ScriptFollower
from hotlap.settings import Settings
from hotlap.window import WindowTimer


class Timer(ScriptFollower):
    """Times the units of a script."""

    _timer: WindowTimer | None = None
    _timing: Generator[None, Trained, list[Block]]
    _device: torch.device

    def begin(self, loader: Any) -> None:
        """Training has begun: begin the warm-up."""
        self.ending.guard(lambda: self._begin(loader))

    def done(self, n_samples: int, loss: Any, batch: Any) -> None:
        """One more unit."""
        try:
            self._timing.send((n_samples, loss))
        except StopIteration:
            self._finish()
        except BaseException as error:
            self.ending.fail(error)

    def script_ended(self) -> None:
        """Take what there is."""
        if self._timer is None or not self._timer.cut_short():
            super().script_ended()
        self._finish()

    def _begin(self, loader: Any) -> None:
        self._device = device = device_of(self.seen.roots[0].device if self.seen.roots else "cpu")
        n_workers = loader.num_workers if loader is not None else 0
        cuda = device.type == "cuda"
        self.emit(
            "built",
            startup_s=time.monotonic() - self.started,
            device=str(device),
            tokens_per_sample=None,
            num_workers=n_workers,
            n_epoch_steps=length(loader),
            side="both",
            resident=False,
            notes=[*self.interposition.notes, *self._not_in_force()],
        )
        self._timer = WindowTimer(
            self.units,
            self.job.window,
            num_workers=n_workers,
            n_prefetched=n_workers * (getattr(loader, "prefetch_factor", None) or 0),
            emit=self.emit,
            synchronize=(lambda: torch.cuda.synchronize(device)) if cuda else lambda: None,
            mark=DeviceMark(device) if cuda else None,
            other_cpu_share=OtherCpu(),
            usage=Usage((lambda: torch.cuda.memory_allocated(device)) if cuda else None),
            clock=self.units.clock,
        )
        self._timing = self._timer.run()
        next(self._timing)

    def _not_in_force(self) -> list[dict[str, str]]:
        told = {note["setting"] for note in self.interposition.notes}
        notes = unreached(self.imposed, self.seen)
        return [note for note in notes if note["setting"] not in told]

    def _finish(self) -> None:
        cuda = self._device.type == "cuda"
        self.ending.answer(
            "finished",
            peak_device_bytes=torch.cuda.max_memory_reserved(self._device) if cuda else None,
            peak_host_bytes=peak_host_bytes(),
            n_skipped_steps=0,
        )


def device_of(kind: str) -> torch.device:
    """The current device of this kind."""
    return torch.device(kind, torch.cuda.current_device() if kind == "cuda" else None)

