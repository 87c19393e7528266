"""Measurement: the raw blocks of one trial and what is derived from them.

The rate is robust: a 20 % trimmed mean of the blocks' seconds per sample, with the interval of
Tukey and McLaughlin (1963; Wilcox, Introduction to Robust Estimation, section 4.3). One block in
five may be spoilt by a neighbour on the machine without moving the answer.

No torch here: the tuner derives the same numbers from the same events.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hotlap.block import JITTER, LOADER_BOUND, Block
from hotlap.ended_early import N_FIRST, EndedEarly

__all__ = [
    "JITTER",
    "LOADER_BOUND",
    "Block",
    "Measurement",
    "Rate",
    "Ratio",
    "steady_rate",
    "t_quantile",
]

TRIM = 0.2

FEW_STEPS = 4
"""With fewer steps for each worker than that, a change of the queue's length is chance."""

T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
         2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
         2.060, 2.056, 2.052, 2.048, 2.045, 2.042)  # fmt: skip
"""Student's t, 97.5 % quantile, for 1 to 30 degrees of freedom."""


FAR_APART = 4.0
"""An interval whose ends lie so many times apart, twice the value to either side, says no more than
that it was not measured often enough: two noisy rounds may give [0.01, 90] (Student's t with one
degree of freedom is 12.7)."""


@dataclass(frozen=True)
class Rate:
    """A rate in samples per second with its 95 % interval; `low` is 0 and `high` inf if unknown."""

    value: float
    low: float
    high: float

    @property
    def precision(self) -> float:
        """Half width of the interval as a share of the value."""
        return (self.high - self.low) / (2 * self.value) if self.value > 0 else math.inf

    @property
    def known(self) -> bool:
        """Whether the interval says anything, so that it is worth showing."""
        return 0 < self.low and self.high <= FAR_APART * self.low


@dataclass(frozen=True)
class Ratio(Rate):
    """A speedup with its 95 % interval: 1.0 is "no difference", more is faster."""

    @classmethod
    def of(cls, rate: Rate) -> Ratio:
        """What the geometric mean of ratios and its interval stand for."""
        return cls(rate.value, rate.low, rate.high)

    @property
    def known(self) -> bool:
        """Also where it lies on one side of 1: that is an answer, however far it reaches."""
        faster = 1 < self.low <= self.high < math.inf
        return super().known or faster or 0 < self.low <= self.high < 1


@dataclass(frozen=True)
class Measurement:
    """What one trial measured. Derived numbers are properties; raw blocks are kept.

    Attributes:
        blocks: The window's blocks.
        warmup: The blocks before it, slow ones included.
        startup_s: Building the workload and the loader, until a first batch is asked for; of a
            script all that comes before its training.
        compile_s: Compilation and autotuning: how much longer warm-up took than steady steps.
        epoch_start_s: What an epoch's start costs more than a steady step.
        epoch_start_known: False if that is only a bound from above, and a large one.
        epochs_in_blocks: True if a block holds whole epochs, their starts included.
        n_epoch_steps: Steps in an epoch, None if unknown.
        peak_device_bytes: Peak of torch's reserved device memory, None without a device.
        peak_host_bytes: Peak resident memory of the trial's processes, workers included.
        n_skipped_steps: Updates that the GradScaler skipped within the window.
        left_out_share: Of a script that makes its batches itself: share of the trial's time that
            was left out again and again, since the model was called without gradients.
        gpu: Means of the GPU watch's counters while the window ran, and what others held on the GPU
            before the trial (runners/gpu_watch.py); absent ones are missing.
        notes: Settings that could not be put in force: {"setting":, "reason":}.
        settled: False if warm-up ended by its cap, or with the training itself.
        tokens_per_sample: Tokens in a sample, None where that makes no sense.
        num_workers: Loader workers of the trial.
        side: "both" if it trained, "loader" or "compute" if it drove one side alone.
        resident: True if one batch lay on the device, so that there was no loader.
    """

    blocks: tuple[Block, ...]
    warmup: tuple[Block, ...] = ()
    startup_s: float = 0.0
    warmup_s: float = 0.0
    compile_s: float = 0.0
    epoch_start_s: float = 0.0
    epoch_start_known: bool = True
    epochs_in_blocks: bool = False
    n_epoch_steps: int | None = None
    peak_device_bytes: int | None = None
    peak_host_bytes: int | None = None
    n_skipped_steps: int = 0
    left_out_share: float = 0.0
    gpu: dict[str, float] = field(default_factory=dict)
    notes: tuple[dict[str, str], ...] = ()
    settled: bool = True
    tokens_per_sample: int | None = None
    num_workers: int = 0
    side: str = "both"
    resident: bool = False

    @property
    def steady(self) -> Rate:
        """Samples per second between epoch borders, robust over the blocks.

        Where the loader's queue ran lower during the window, more batches were taken than made,
        and only those made can go on for ever: the rate is lowered by their share.
        """
        rate = steady_rate(self.blocks)
        made = self._made_share
        if (early := self.ended_early) is not None:
            made = early.made_share * early.samples_per_s / rate.value
        return rate if made == 1.0 else Rate(rate.value * made, rate.low * made, rate.high * made)

    @property
    def ended_early(self) -> EndedEarly | None:
        """The window as a part of the warm-up, if training ended there by itself; else None."""
        if self.settled or not self.blocks or self.blocks[:1] != self.warmup[N_FIRST:][:1]:
            return None
        return EndedEarly.of(self.warmup, self.n_epoch_steps)

    @property
    def _made_share(self) -> float:
        if self.epochs_in_blocks:
            return 1.0
        used_up, taken = used_up_of(self.blocks, self.num_workers)
        if not used_up or taken < FEW_STEPS * self.num_workers:
            return 1.0
        return max(1.0 - used_up / taken, 1.0 / taken)

    @property
    def rate(self) -> Rate:
        """Samples per second with the epoch starts spread over the epoch's steps."""
        steady = self.steady
        samples = self.samples_per_step * (self.n_epoch_steps or 0)
        if self.epochs_in_blocks or samples <= 0 or self.epoch_start_s <= 0:
            return steady
        share = 1 / (1 + self.epoch_start_s * steady.value / samples)
        return Rate(steady.value * share, steady.low * share, steady.high * share)

    @property
    def samples_per_s(self) -> float:
        """The goal: `rate` without its doubt."""
        return self.rate.value

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens per second, where the workload says how many a sample has."""
        return self.samples_per_s * self.tokens_per_sample if self.tokens_per_sample else None

    @property
    def samples_per_step(self) -> float:
        """Mean samples of one step."""
        steps = sum(b.steps for b in self.blocks)
        return sum(b.samples for b in self.blocks) / steps if steps else 0.0

    @property
    def step_time_s(self) -> float:
        """Steady seconds for one step."""
        rate = self.steady.value
        return self.samples_per_step / rate if rate > 0 else math.inf

    @property
    def data_wait_share(self) -> float:
        """Share of the window in which training waited in `next(loader)`, 0..1.

        Where a device works beside the host, only as far as it stood still meanwhile: a host that
        is ahead of it may wait as long as it likes.
        """
        seconds, wait_s = (
            sum(b.seconds for b in self.blocks),
            sum(b.data_wait_s for b in self.blocks),
        )
        stalled = (b.data_wait_s if b.stalled_s is None else b.stalled_s for b in self.blocks)
        return min(wait_s, sum(stalled)) / seconds if seconds else 0.0

    @property
    def other_cpu_share(self) -> float:
        """Share of the machine's CPU that others used while the window ran, 0..1."""
        seconds = sum(b.seconds for b in self.blocks)
        used = sum(b.other_cpu_share * b.seconds for b in self.blocks)
        return used / seconds if seconds else 0.0

    @classmethod
    def from_events(
        cls, events: Iterable[dict[str, Any]], gpu: dict[str, float] | None = None
    ) -> Measurement:
        """Build it from a trial's events, finished or not."""
        blocks: list[Block] = []
        warmup: list[Block] = []
        found: dict[str, Any] = {"gpu": gpu or {}}
        for event in events:
            name = event["event"]
            if name in ("block", "warmup"):
                block = Block(**{k: event[k] for k in Block.__dataclass_fields__ if k in event})
                (blocks if name == "block" else warmup).append(block)
            elif name == "warm":
                found["settled"] = event["reason"] == "settled"
            found.update({k: v for k, v in event.items() if k in _PLAIN})
        found["notes"] = tuple(found.get("notes", ()))
        return cls(blocks=tuple(blocks), warmup=tuple(warmup), **found)


_PLAIN = (
    "startup_s",
    "warmup_s",
    "compile_s",
    "epoch_start_s",
    "epoch_start_known",
    "epochs_in_blocks",
    "n_epoch_steps",
    "peak_device_bytes",
    "peak_host_bytes",
    "n_skipped_steps",
    "left_out_share",
    "notes",
    "tokens_per_sample",
    "num_workers",
    "side",
    "resident",
)


def used_up_of(blocks: Sequence[Block], num_workers: int) -> tuple[int, int]:
    """Batches by which the loader's queue ran low over `blocks`, and the steps that it took.

    A queue at rest has none: an empty one goes up and down by one batch a worker, since these
    deliver in bursts; a full one by hardly any where blocks meet, a whole number of bursts apart.
    """
    known = [block.n_ready for block in blocks if block.n_ready is not None]
    used_up = taken = 0
    for before, block in itertools.pairwise(blocks):
        if before.n_ready is None or block.n_ready is None:
            continue
        if in_a_row(before, block):
            used_up += before.n_ready - block.n_ready
            taken += block.steps
    waits = any(block.data_wait_s > LOADER_BOUND * block.seconds for block in blocks[:1])
    is_empty = waits and max(known, default=0) <= num_workers
    return (0 if used_up <= (num_workers if is_empty else JITTER) else used_up), taken


def in_a_row(before: Block, block: Block) -> bool:
    """Whether no step lies between two blocks; at an epoch's border the queue begins anew."""
    return block.at_step - before.at_step in (block.steps, 0)


def steady_rate(blocks: Iterable[Block]) -> Rate:
    """The trimmed-mean rate of `blocks` with its 95 % interval.

    Two blocks give a wide interval, one gives none (0 to inf), no block gives the rate 0.
    """
    times = sorted(b.seconds / b.samples for b in blocks if b.samples > 0)
    n = len(times)
    if n == 0:
        return Rate(0.0, 0.0, math.inf)
    g = int(TRIM * n)
    middle = times[g : n - g]
    mean = sum(middle) / len(middle)
    if n == 1:
        return Rate(1 / mean, 0.0, math.inf)
    winsorized = [times[g]] * g + middle + [times[n - g - 1]] * g
    centre = sum(winsorized) / n
    variance = sum((t - centre) ** 2 for t in winsorized) / (n - 1)
    half = t_quantile(len(middle) - 1) * math.sqrt(variance / n) / (1 - 2 * g / n)
    return Rate(1 / mean, 1 / (mean + half), 1 / (mean - half) if half < mean else math.inf)


def t_quantile(df: int) -> float:
    """Student's t quantile for a two-sided 95 % interval; normal beyond 30 degrees of freedom."""
    return T_975[df - 1] if df <= len(T_975) else 1.96
