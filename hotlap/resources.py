"""What the trial's processes use and what is left: memory, shared memory, others' CPU.

Read from /proc; on a system without it the answers are 0, and nothing else changes.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from pathlib import Path
from typing import Any

PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


class OtherCpu:
    """CPU that others than this trial used since the last call, as a share of the machine."""

    def __init__(self) -> None:
        self._last = self._read()

    def __call__(self) -> float:
        """The share, 0..1."""
        now = self._read()
        busy, own, wall = (b - a for a, b in zip(self._last, now, strict=True))
        self._last = now
        cores = os.cpu_count() or 1
        return min(1.0, max(0.0, (busy - own) / (wall * cores))) if wall > 0 else 0.0

    def _read(self) -> tuple[float, float, float]:
        own = sum(_cpu_s(pid) for pid in trial_pids())
        return _busy_s(), own, time.monotonic()


def trial_pids() -> list[int]:
    """This process and the loader workers it has now."""
    return [os.getpid(), *(p.pid for p in multiprocessing.active_children() if p.pid)]


def peak_host_bytes() -> int:
    """Peak resident memory of the trial: its own peak, and its workers' present share.

    Pages that forked workers share with their parent are counted once (PSS, proc(5)).
    """
    own, *workers = trial_pids()
    status = _kilobytes(own, "status", "VmHWM")
    return 1024 * (status + sum(_kilobytes(pid, "smaps_rollup", "Pss") for pid in workers))


def shared_memory_hint(settings: dict[str, Any], error: str) -> str:
    """One line for a trial whose loader ran out of shared memory."""
    free = shutil.disk_usage("/dev/shm").free // 2**20 if os.path.isdir("/dev/shm") else 0
    workers, prefetch = settings.get("num_workers", 0), settings.get("prefetch_factor", 2)
    return (
        f"shared memory: the loader holds up to {workers} workers x {prefetch} batches (+1) in "
        f"/dev/shm, which has {free} MiB free; use fewer workers or a lower prefetch_factor, or "
        f"enlarge it (docker run --shm-size): {error.splitlines()[0]}"
    )


def _cpu_s(pid: int) -> float:
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # utime, stime and those of children that were waited for: proc(5), fields 14 to 17
    return sum(int(value) for value in fields[11:15]) / _TICKS


def _busy_s() -> float:
    try:
        with (PROC / "stat").open() as file:
            user, nice, system, _idle, _iowait, irq, softirq, *_ = file.readline().split()[1:]
    except OSError:
        return 0.0
    return sum(int(value) for value in (user, nice, system, irq, softirq)) / _TICKS


def _kilobytes(pid: int, file: str, key: str) -> int:
    try:
        lines = (PROC / str(pid) / file).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{key}:")), 0)
