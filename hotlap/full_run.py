"""The full run: ordinary training with frozen settings, in a worker, told by events.

A full disk ends no training: events are lost meanwhile, a checkpoint that cannot be saved (event
`unsaved`: path, reason) is tried again when the next one is due, and the one before stays. Only the
last one has to succeed. How a run is asked to stop: hotlap/stopping.py.

A checkpoint is written aside and renamed: every `checkpoint_every_s` seconds, at the run's end, and
when it is asked to stop (SIGTERM). A resumed run goes on at the very batch: an epoch's order comes
from its own seed (hotlap/epoch_seed.py), and the batches that were trained on are drawn again and
passed over. With another batch size or seed than the checkpoint's they would be other ones, and it
does not go on. With `in_order=False` batches come as they are ready, so as many are passed over,
which need not be the same ones.

Events: `batch` (once), `step` (each second or so), `epoch`, `checkpoint`, and at the end `trained`;
hotlap/job.py says what is in them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hotlap.aside import aside
from hotlap.batches import tensors
from hotlap.epoch_seed import begin_epoch
from hotlap.errors import Diverged, NoBatch, NoRoom, UserInputError
from hotlap.job import EventLog, Job
from hotlap.loadable import of_the_machine, plain, read, unreadable, why_other
from hotlap.meter import Meter
from hotlap.room import no_room, takes_no_more
from hotlap.stopping import deafen, on_stop
from hotlap.structure import batch_shapes
from hotlap.workload import Workload

if TYPE_CHECKING:
    from hotlap.apply import Applied

CHECKPOINT = "checkpoint.pt"

UNSAVED = (NoRoom, OSError, RuntimeError)
"""What is raised where a checkpoint cannot be written; torch's own writer has the last one."""


@dataclass
class Position:
    """Where a run stands: epochs done, steps done in this epoch and in all."""

    epoch: int = 0
    step_in_epoch: int = 0
    steps: int = 0


class FullRun:
    """Trains a workload for `job.run["epochs"]` epochs.

    `job.run` holds `epochs`, `max_steps` (or None), `folder` for checkpoints,
    `checkpoint_every_s` and `resume` (a checkpoint's path or None).
    """

    def __init__(self, workload: Workload, applied: Applied, job: Job, emit: EventLog) -> None:
        self._workload = workload
        self._applied = applied
        self._seed = job.seed
        self._epochs: int = job.run["epochs"]
        self._max_steps: float = job.run.get("max_steps") or math.inf
        self._checkpoint = Path(job.run["folder"]) / CHECKPOINT
        self._every_s: float = job.run.get("checkpoint_every_s", 300.0)
        self._emit = emit
        self._meter = Meter()
        self._stop = False
        self._n_steps = 0  # of this session
        self._told_unreadable = False
        deafen(applied.loader)
        self._position = Position()
        self._saved = time.monotonic()
        if job.run.get("resume"):
            self._load(Path(job.run["resume"]))

    def run(self) -> None:
        """Train to the end, or until it is asked to stop.

        Raises:
            Diverged: The loss is not finite.
            NoBatch: An epoch has no batch.
            UserInputError: What it would save could never be loaded.
            NoRoom: The last checkpoint cannot be saved, for the disk is full.
            OSError: It cannot be saved for another reason.
        """
        on_stop(self._ask_to_stop)
        loss: torch.Tensor | None = None
        while self._position.epoch < self._epochs and not self._finished():
            start = time.perf_counter()
            loss = self._epoch()
            if self._finished():
                break
            self._position.epoch += 1
            self._position.step_in_epoch = 0
            value = _finite(loss)
            self._meter.lap()
            seconds = time.perf_counter() - start
            self._tell("epoch", epoch=self._position.epoch, loss=value, seconds=seconds)
            self._save_if_due()
        value = _finite(loss)
        self._meter.lap()
        self._save_last()
        self._emit(
            "trained",
            epoch=self._position.epoch,
            steps=self._position.steps,
            n_session_steps=self._n_steps,
            samples=self._meter.samples,
            seconds=self._meter.seconds,
            samples_per_s=self._meter.total(),
            loss=value,
            interrupted=self._stop and not self._complete(),
        )

    def _epoch(self) -> torch.Tensor | None:
        applied, meter, position = self._applied, self._meter, self._position
        begin_epoch(applied.loader, self._seed + position.epoch)
        skip = position.step_in_epoch
        loss = None
        for i, batch in enumerate(self._batches(applied.loader)):
            if self._finished():
                break
            if i < skip:
                continue
            loss = applied.step(batch)
            position.steps += 1
            position.step_in_epoch += 1
            self._n_steps += 1
            if self._n_steps == 1:
                _finite(loss)  # waits for the device: a session's first step is start-up
                if position.steps == 1:  # the batch with which a run goes on may be a smaller one
                    self._tell("batch", facts={"batch_shapes": batch_shapes([[*tensors(batch)]])})
                if why := unreadable(self._state()):  # told now, and not when it goes on
                    raise UserInputError(f"no checkpoint of this run could be loaded: {why}")
                meter.begin()
                continue
            meter.samples += self._workload.count(batch)
            if meter.due():
                self._report(loss)
        if not position.step_in_epoch and not self._finished():
            raise NoBatch(position.epoch)
        return loss

    def _batches(self, loader: Iterable[Any]) -> Iterator[Any]:
        """The loader's batches; none more if it breaks while the run is stopped.

        A signal to all processes may have ended what its samples come from.
        """
        try:
            yield from loader
        except Exception:
            if not self._stop:
                raise

    def _report(self, loss: torch.Tensor) -> None:
        value = _finite(loss)
        self._tell(
            "step",
            epoch=self._position.epoch,
            step=self._position.steps,
            step_in_epoch=self._position.step_in_epoch,
            n_epoch_steps=self._applied.n_epoch_steps,
            loss=value,
            samples_per_s=self._meter.lap(),
            mean_samples_per_s=self._meter.total(),
        )
        self._save_if_due()

    def _finished(self) -> bool:
        return self._stop or self._position.steps >= self._max_steps

    def _complete(self) -> bool:
        return self._position.epoch >= self._epochs or self._position.steps >= self._max_steps

    def _ask_to_stop(self) -> None:
        self._stop = True

    def _tell(self, event: str, **values: Any) -> None:
        """Show how far it is. A full disk takes no line, and ends no training."""
        try:
            self._emit(event, **values)
        except OSError as error:
            if not no_room(error):
                raise

    def _save_if_due(self) -> None:
        if time.monotonic() - self._saved <= self._every_s:
            return
        try:
            self._save()
        except UNSAVED as error:
            self._saved = time.monotonic()
            self._tell("unsaved", path=str(self._checkpoint), reason=_first_line(error))
            self._meter.begin()

    def _save_last(self) -> None:
        try:
            self._save()
        except UNSAVED as error:
            kind = NoRoom if isinstance(error, NoRoom) else OSError
            raise kind(
                f"the last checkpoint, of step {self._position.steps}, cannot be saved as "
                f"{self._checkpoint}: {_first_line(error)}; an earlier one stays as it was"
            ) from error

    def _state(self) -> dict[str, Any]:
        return {
            "model": plain(self._applied.model.state_dict()),
            "optimizer": plain(self._applied.optimizer.state_dict()),
            "scaler": self._applied.scaler.state_dict(),
            "position": vars(self._position),
            "workload": self._workload.name,
            "batch_size": plain(self._workload.batch_size),
            "seed": self._seed,
        }

    def _save(self) -> None:
        state = self._state()
        self._checkpoint.parent.mkdir(parents=True, exist_ok=True)
        with aside(self._checkpoint) as place:
            try:
                torch.save(state, place)
            except UNSAVED as error:
                # torch's writer names no cause. Asked now: `aside` makes room again.
                if full := no_room(error) or takes_no_more(place.parent):
                    raise NoRoom(full) from error
                raise
        self._saved = time.monotonic()
        self._tell("checkpoint", path=str(self._checkpoint), **vars(self._position))
        if not self._told_unreadable and (why := unreadable(state)):  # since the first step
            self._told_unreadable = True
            self._tell("unreadable", path=str(self._checkpoint), reason=why)
        self._meter.begin()

    def _load(self, path: Path) -> None:
        state = read(path)
        if changed := "; ".join(self._changed(state)):
            raise UserInputError(
                f"the checkpoint {path} is of a run with {changed}: some samples would be trained "
                "on twice and others never; go on as it began (a size that is null is the "
                "device's), or begin a run of its own without resume="
            )
        try:
            self._applied.model.load_state_dict(state["model"])
            self._applied.optimizer.load_state_dict(state["optimizer"])
            if state["scaler"]:  # empty if it was saved without fp16
                self._applied.scaler.load_state_dict(state["scaler"])
            self._position = Position(**state["position"])
        except Exception as error:  # also what a model's or an optimizer's own loading raises
            if of_the_machine(error):
                raise
            raise UserInputError(
                f"the checkpoint {path} is of another model or optimizer than the workload has "
                f"now: {why_other(error)}; put them back as they were, or begin a run of its own "
                "without resume="
            ) from None

    def _changed(self, state: Mapping[str, Any]) -> Iterator[str]:
        """What says which samples were trained on and is not as it was; an old file has neither."""
        now = self._workload.batch_size
        if (then := state.get("batch_size", now)) != now:
            yield f"batches of {then} samples, now {now}"
        if (then := state.get("seed", self._seed)) != self._seed:
            yield f"seed={then}, now {self._seed}"


def train(workload: Workload, applied: Applied, job: Job, emit: EventLog) -> None:
    """Do the full run that `job` asks for; see FullRun."""
    FullRun(workload, applied, job, emit).run()


def _finite(loss: torch.Tensor | None) -> float | None:
    if loss is None:
        return None
    value = float(loss)
    if not math.isfinite(value):
        raise Diverged(f"the loss became {value}")
    return value


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
