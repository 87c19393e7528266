"""Two arms by turns in one process: hotlap's window timer, and a plain loop between its blocks."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader

from hotlap.apply import Applied, apply, apply_process
from hotlap.batch_size import known_batch_size
from hotlap.device_wait import device_wait
from hotlap.drive import drive
from hotlap.feed import Feed
from hotlap.job import EventLog, Window
from hotlap.loading import Resident
from hotlap.measurement import Measurement
from hotlap.resources import OtherCpu
from hotlap.settings import Settings
from hotlap.window import WindowTimer
from hotlap.worker import build
from hotlap.workload import Workload


class Cost(NamedTuple):
    """What a block took: seconds of the wall clock, and of this process's CPU."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Turn:
    """One block of each arm, over the same number of steps; times are taken from outside.

    Attributes:
        steps: Optimizer updates of each.
        harness: hotlap's, with all that stands between two of its blocks.
        plain: The plain loop's, right after it.
        control: The plain loop's once more, right after that.
    """

    steps: int
    harness: Cost
    plain: Cost
    control: Cost


def one_process(
    dotted: str, args: dict[str, Any], seconds: float, block_s: float, device: str | None = None
) -> dict[str, Any]:
    """Both arms of one workload with PyTorch's default settings, in this process.

    Args:
        dotted: Dotted path of the workload's function.
        args: Its arguments.
        seconds: Of hotlap's window; the plain blocks come on top.
        block_s: Seconds of a block.
        device: "cpu" or "cuda"; None takes cuda where there is one.
    """
    settings = Settings()
    apply_process(settings)
    workload = build(dotted, {**args, "device": device})
    applied = apply(workload, settings)
    with TemporaryDirectory() as folder:
        turns = _Turns(workload, applied, EventLog(Path(folder)))
        timer = WindowTimer(
            turns.feed,
            Window(max_s=seconds, min_s=seconds, block_s=block_s, precision=0.0),
            emit=turns,
            synchronize=turns.plain.synchronize,
            other_cpu_share=OtherCpu(),
        )
        batch_size = known_batch_size(workload, applied.loader)
        drive(timer.run(), applied.step.update, turns.feed, workload.count, batch_size)
    measured = Measurement.from_events(turns.events)
    return summary(turns.done, measured.samples_per_s, measured.samples_per_step)


def summary(
    turns: Sequence[Turn], reported_samples_per_s: float, samples_per_step: float
) -> dict[str, Any]:
    """What one process says.

    Returns:
        `ratio`: harness/plain, the median over the turns of the ratio of speeds, the plain loop's
        being that of its two blocks together; `control`: its first block against its second;
        `cpu_ratio` and `cpu_control`: the same by CPU time, which a neighbour on the machine
        disturbs less; `reported_samples_per_s`: what hotlap would report as its rate;
        `plain_samples_per_s`: the plain loop's by the wall clock; `n_plain_steps`, `n_blocks`.
    """
    n_plain = 2 * sum(turn.steps for turn in turns)
    plain_s = sum(turn.plain.wall_s + turn.control.wall_s for turn in turns)
    return {
        "ratio": median(_ratio(t.plain.wall_s, t.control.wall_s, t.harness.wall_s) for t in turns),
        "control": median(t.control.wall_s / t.plain.wall_s for t in turns),
        "cpu_ratio": median(_ratio(t.plain.cpu_s, t.control.cpu_s, t.harness.cpu_s) for t in turns),
        "cpu_control": median(t.control.cpu_s / t.plain.cpu_s for t in turns),
        "reported_samples_per_s": reported_samples_per_s,
        "plain_samples_per_s": n_plain * samples_per_step / plain_s,
        "n_plain_steps": n_plain,
        "n_blocks": len(turns),
    }


def _ratio(plain: float, control: float, harness: float) -> float:
    return (plain + control) / 2 / harness


class Plain:
    """The loop that anybody would write by hand, with a clock around it.

    Args:
        workload: Its model is trained, by an optimizer of the loop's own: hotlap's has a hook.
        batches: Batches without end.

    Attributes:
        synchronize: Waits for the device.
    """

    def __init__(self, workload: Workload, batches: Iterable[Any]) -> None:
        self._model = workload.model
        self._loss = workload.loss
        self._optimizer = workload.optimizer(workload.model.parameters())
        self._batches = iter(batches)
        self._device = torch.device(workload.device)
        self.synchronize = device_wait(self._device)

    def run(self, n_steps: int) -> Cost:
        """Train for `n_steps`; returns what it took between two synchronizations."""
        self.synchronize()
        start = _clocks()
        for batch in itertools.islice(self._batches, n_steps):
            batch = [tensor.to(self._device) for tensor in batch]
            self._optimizer.zero_grad()
            loss = self._loss(self._model, batch)
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
        self.synchronize()
        return _since(start)


def steps_taken(feed: Feed) -> int:
    """Batches taken from `feed` since its start, over all epochs."""
    return max(0, feed.n_epochs - 1) * (feed.n_epoch_steps or 0) + feed.n_in_epoch


def batches(workload: Workload, applied: Applied) -> Iterable[Any]:
    """The batches of a loop written by hand, without end."""
    if isinstance(applied.loader, Resident):
        return itertools.repeat(applied.loader.batch)
    loader: DataLoader[Any] = DataLoader(
        workload.dataset,
        batch_size=workload.batch_size,
        shuffle=workload.shuffle,
        drop_last=workload.drop_last,
        collate_fn=workload.collate_fn,
    )
    return itertools.chain.from_iterable(itertools.repeat(loader))


class _Turns:
    """Called with each of the timer's events: keeps it, then lets the plain loop have its turn."""

    def __init__(self, workload: Workload, applied: Applied, log: EventLog) -> None:
        self.feed = Feed(applied.loader, applied.n_epoch_steps)
        self.plain = Plain(workload, batches(workload, applied))
        self.events: list[dict[str, Any]] = []
        self.done: list[Turn] = []
        self._log = log
        self._steps = 0
        self._start = _clocks()

    def __call__(self, event: str, **values: Any) -> None:
        self._log(event, **values)
        harness = _since(self._start)
        steps = steps_taken(self.feed) - self._steps
        self.events.append({"event": event, **values})
        if event == "warmup":
            self.plain.run(values["steps"])  # its own optimizer's state, its loader's start
        elif event == "block":
            # Steps are the feed's: a block that an epoch's border has cut is timed but not told.
            self.done.append(Turn(steps, harness, self.plain.run(steps), self.plain.run(steps)))
        self._steps = steps_taken(self.feed)
        self._start = _clocks()


def _clocks() -> Cost:
    return Cost(time.perf_counter(), time.process_time())


def _since(start: Cost) -> Cost:
    now = _clocks()
    return Cost(now.wall_s - start.wall_s, now.cpu_s - start.cpu_s)
