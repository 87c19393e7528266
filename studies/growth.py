"""Growth: what a trial holds more of at each step, and when the full run would have no room for it.

A window of seconds hides what grows by a little at each step (a list of losses with their graphs, a
dataset that leaves files open): the full run meets the limit hours later. So each block notes what
the trial holds at its end, and the slope is carried on to the full run's steps.

Not all that goes up is growth. Memory is first touched, caches fill, an allocator takes a large
piece at once: all of these come to an end. Growth is told from them by Theil and Sen's slope, the
median over all pairs of blocks (Sen, Journal of the American Statistical Association 63, 1968),
which has to be positive beyond doubt, in both halves, and in the later one not much less. A script
that ended in its warm-up has few blocks, and more is asked of these (`FEW_POINTS`).
"""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass

from hotlap.measurement import Measurement

MIN_POINTS = 6
"""With fewer blocks, half of them show no slope."""

MIN_STEPS = 24
"""Within fewer steps memory is still touched first: seen with a detector, whose images differ in
size, over its first ten steps."""

SUSTAINED = 0.5
"""The later half's slope is at least this share of the earlier one's: what fills up flattens."""

FEW_POINTS, FEW_STEPS = 4, 200
"""Of a script that ended in its warm-up there are few points, each several times as far from the
start as the one before. So many do over so many steps, if the last two slopes are alike."""

ALIKE = 0.75
"""The smaller of two slopes that are alike is at least this share of the larger one."""

MIB = 1 << 20

NAMES = {
    "host_bytes": "host memory",
    "open_files": "the number of open files",
    "shared_bytes": "shared memory in /dev/shm",
    "device_bytes": "device memory",
}
"""Block's field -> what it is called."""

FLOORS = {"host_bytes": 8 * MIB, "open_files": 8, "shared_bytes": 16 * MIB, "device_bytes": MIB}
"""How much each has to rise to be told; host memory for each process. A loader worker's heap goes
up and down by some MiB, and so do the batches that lie in /dev/shm."""


@dataclass(frozen=True)
class Limits:
    """How much of each a trial may hold; None where that is unknown.

    Attributes:
        host_bytes: Host memory that is free while no trial runs.
        open_files: RLIMIT_NOFILE, which is each process's own.
        shared_bytes: Free in /dev/shm while no trial runs.
        device_bytes: All of the device's memory, whoever has some of it.
    """

    host_bytes: int | None = None
    open_files: int | None = None
    shared_bytes: int | None = None
    device_bytes: int | None = None

    @classmethod
    def here(cls, host_bytes: int | None = None, device_bytes: int | None = None) -> Limits:
        """The limits of this machine.

        Args:
            host_bytes: A container's limit, or None for none; what is free is taken if it is less.
            device_bytes: Of the device, None without one.
        """
        import psutil

        free = int(psutil.virtual_memory().available)
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        shm = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
        return cls(
            host_bytes=min(free, host_bytes or free),
            open_files=None if files == resource.RLIM_INFINITY else files,
            shared_bytes=shm.f_bavail * shm.f_frsize if shm else None,
            device_bytes=device_bytes,
        )


@dataclass(frozen=True)
class Growth:
    """One thing that grows with the steps.

    Attributes:
        what: Block's field: "host_bytes", "open_files", "shared_bytes" or "device_bytes".
        per_step: Growth in a step, in bytes or files.
        at_end: What there would be at the full run's end; after 1,000 steps if its length is
            unknown.
        limit: How much there can be, None if unknown.
        reached_after_steps: Steps from the start until the limit is reached; None if the full run
            ends before, or if no limit is known.
        n_steps: The full run's, None if unknown.
    """

    what: str
    per_step: float
    at_end: float
    limit: int | None
    reached_after_steps: int | None
    n_steps: int | None

    @property
    def sentence(self) -> str:
        """What it means for the full run."""
        text = f"{NAMES[self.what]} grows by {self._pace()}"
        run = "" if self.n_steps is None else f"the full run has {self.n_steps:,}"
        if self.reached_after_steps is not None:
            reached = f"{self._room()} after {self.reached_after_steps:,} steps"
            return f"{text}: {reached}{f', and {run}' if run else ''}"
        return f"{text}: {self._amount(self.at_end)} at the end, since {run} steps" if run else text

    def _pace(self) -> str:
        least = 1 if self.what == "open_files" else 1 << 10
        if self.n_steps is None or self.per_step < least:
            return f"{self._amount(1000 * self.per_step)} in 1,000 steps"
        return f"{self._amount(self.per_step)} a step"

    def _room(self) -> str:
        if self.what == "open_files":
            return f"the limit of {self.limit:,} for a process would be reached"
        if self.what == "device_bytes":
            return f"the device's {self._amount(self.limit or 0)} would be used up"
        return f"the {self._amount(self.limit or 0)} that are free would be used up"

    def _amount(self, value: float) -> str:
        if self.what == "open_files":
            return _three_digits(value)
        for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
            if value >= size:
                return f"{_three_digits(value / size)} {unit}"
        return f"{value:.0f} bytes"


def _three_digits(value: float) -> str:
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


def growths(measurement: Measurement, n_steps: int | None, limits: Limits) -> list[Growth]:
    """What grows with the steps of a trial; empty for one that behaves well.

    Args:
        measurement: A trial's; with fewer blocks than `MIN_POINTS`, or over fewer steps than
            `MIN_STEPS`, nothing is told, but for `FEW_POINTS`.
        n_steps: Of the full run, None if its length is unknown.
        limits: How much of each the full run may hold.
    """
    found = []
    for what, floor in FLOORS.items():
        n_processes = 1 + measurement.num_workers if what == "host_bytes" else 1
        steps, values = _series(measurement, what)
        slope = slope_per_step(steps, values, floor * n_processes)
        if slope > 0:
            found.append(_growth(what, slope, measurement, n_steps, getattr(limits, what)))
    return found


def can_tell(measurement: Measurement, what: str) -> bool:
    """Whether a trial has blocks and steps enough to show growth."""
    steps, _ = _series(measurement, what)
    return _enough(steps)


def slope_per_step(steps: Sequence[int], values: Sequence[float], floor: float) -> float:
    """Sustained growth in a step; 0 if there is none beyond doubt.

    Args:
        steps: Steps done at each block's end, rising.
        values: What was held then.
        floor: A total rise below it is none.
    """
    if not _enough(steps):
        return 0.0
    from scipy.stats import theilslopes  # scipy takes a while to import

    slope, _, low, _ = theilslopes(values, steps)
    rise = slope * (steps[-1] - steps[0])
    if len(steps) < MIN_POINTS:
        earlier, later = ((values[i] - values[i - 1]) / (steps[i] - steps[i - 1]) for i in (-2, -1))
        sustained = min(earlier, later) >= ALIKE * max(earlier, later)
        rise /= 2
    else:
        half = len(steps) // 2
        earlier = theilslopes(values[:half], steps[:half])[0]
        later = theilslopes(values[-half:], steps[-half:])[0]
        sustained = min(earlier, later) > 0 and later >= SUSTAINED * earlier
    return float(slope) if low > 0 and sustained and rise >= floor else 0.0


def _enough(steps: Sequence[int]) -> bool:
    """Whether blocks that ended after so many steps can show growth."""
    far = steps[-1] - steps[0] if steps else 0
    if len(steps) >= MIN_POINTS:
        return far >= MIN_STEPS
    further = all(
        c - b >= 2 * (b - a) for a, b, c in zip(steps, steps[1:], steps[2:], strict=False)
    )
    return len(steps) >= FEW_POINTS and far >= FEW_STEPS and further


def _series(measurement: Measurement, what: str) -> tuple[list[int], list[float]]:
    """Steps and values of the window and of the warm-up's later half, where there are any.

    The window of a script that ended in its warm-up is that warm-up but for its first two steps.
    """
    early = measurement.ended_early is not None
    warm_up = () if early else measurement.warmup[len(measurement.warmup) // 2 :]
    blocks = [b for b in (*warm_up, *measurement.blocks) if getattr(b, what) is not None]
    return [b.at_step for b in blocks], [float(getattr(b, what)) for b in blocks]


def _growth(
    what: str, per_step: float, measurement: Measurement, n_steps: int | None, limit: int | None
) -> Growth:
    steps, values = _series(measurement, what)
    level = values[-1]
    if what == "host_bytes" and measurement.peak_host_bytes:
        level = measurement.peak_host_bytes  # pages that forked workers share are in it once
    if what == "device_bytes" and measurement.peak_device_bytes:
        level = measurement.peak_device_bytes  # between two steps there are no activations
    start = level - per_step * steps[-1]
    at_end = start + per_step * (1000 if n_steps is None else n_steps)
    reached = None if limit is None else max(1, round((limit - start) / per_step))
    if reached is not None and n_steps is not None and reached > n_steps:
        reached = None
    return Growth(what, per_step, at_end, limit, reached, n_steps)
