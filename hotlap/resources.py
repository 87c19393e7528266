"""What the trial's processes use and what is left: memory, files, shared memory, others' CPU.

Read from /proc; on a system without it the answers are 0, and nothing else changes.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

PROC = Path("/proc")
SHM = "/dev/shm"
OUT_OF_MEMORY = re.compile(
    r"out of memory|killed by signal: Killed|can(no|')t allocate memory|not enough memory|bad_alloc"
    r"|_ALLOC(ATION)?_FAILED",  # cuBLAS, cuDNN and their like, which have workspaces of their own
    re.I,
)
"""In the words of an error that comes from that."""
UNFILLED = re.compile(r"</torch_(\d+)_")
"""The process id in the name of a file of torch's in shared memory, as its errors have it."""
KILLED_S = 5.0
"""A killed worker is gone by then, or waits for a device that does not answer."""
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class OtherCpu:
    """CPU that others than this trial used since the last call, as a share of the machine.

    Of a virtual machine's neighbours only the time is seen in which they had a core that was wanted
    here: `steal` in proc(5).
    """

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


class Usage:
    """What the trial holds now, to see whether it grows: cheap enough to be read at each block.

    Args:
        device_bytes: Memory that torch's tensors hold on the device; None without a device.
    """

    def __init__(self, device_bytes: Callable[[], int] | None = None) -> None:
        self._device_bytes = device_bytes
        self._shm_at_start = _shm_used_bytes()

    def __call__(self) -> dict[str, int | None]:
        """The numbers now, by the names of hotlap.measurement.Block's fields.

        Reading takes some 15 microseconds, and 25 more for each loader worker.

        Returns:
            `host_bytes`: anonymous resident memory of this process and its workers. Pages that
            forked workers still share with their parent count in each, so it is the growth that
            means something. Files mapped into memory, which the system may drop, and shared
            memory do not count. `open_files`: of the process that has the most, since the limit
            is each process's own. `shared_bytes`: growth of /dev/shm's use since the start,
            whoever uses it: torch unlinks its files, so nobody can tell whose they are.
            `device_bytes`: as given.
        """
        pids = trial_pids()
        host = [_anonymous_bytes(pid) for pid in pids]
        files = [_open_files(pid) for pid in pids]
        shm = _shm_used_bytes()
        started = self._shm_at_start
        return {
            "host_bytes": sum(host) or None,
            "open_files": max(files) or None,
            "shared_bytes": None if shm is None or started is None else max(0, shm - started),
            "device_bytes": self._device_bytes() if self._device_bytes else None,
        }


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


def shared_memory_hint(workers: int, prefetch: int, error: str) -> str:
    """One line for a trial whose loader ran out of shared memory.

    Files that torch could make but not fill would stay until the machine is started anew, and
    the next trial would have less: they are removed, and the workers ended before that.
    """
    n_bytes = _remove_unfilled(error)
    lines = error.splitlines()
    line = next(filter(UNFILLED.search, lines), lines[0])  # a worker's traceback stands before it
    size = f" of {n_bytes / 2**20:.0f} MiB and more" if n_bytes else ""
    free = shutil.disk_usage(SHM).free // 2**20 if os.path.isdir(SHM) else 0
    return (
        f"shared memory: the loader holds up to {workers} workers x {prefetch} batches (+1){size} "
        f"in /dev/shm, which has {free} MiB free; use fewer workers or a lower prefetch_factor, or "
        f"enlarge it (docker run --shm-size): {line}"
    )


def _remove_unfilled(error: str) -> int:
    """Remove torch's file that `error` names, and this trial's other ones; the largest's size.

    Its bytes are those of one tensor of a batch, 0 if there is no file.
    """
    pids = {str(pid) for pid in trial_pids()} | set(UNFILLED.findall(error))
    with contextlib.suppress(ValueError):  # not the main thread's to set
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # torch's own raises for a killed worker
    for worker in multiprocessing.active_children():  # it would fail with its next batch again
        # In a process that the script has forked they may be its parent's: then the first raises.
        with contextlib.suppress(AssertionError, OSError):
            worker.join(0)
            worker.kill()
            worker.join(KILLED_S)
    sizes = [0]
    for path in Path(SHM).glob("torch_*"):
        if path.name.split("_")[1] in pids:
            with contextlib.suppress(OSError):  # another worker's is filled, and gone
                sizes.append(path.stat().st_size)
                path.unlink()
    return max(sizes)


def _cpu_s(pid: int) -> float:
    try:
        fields = _read(f"{PROC}/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return 0.0
    # utime, stime and those of children that were waited for: proc(5), fields 14 to 17
    return sum(int(value) for value in fields[11:15]) / _TICKS


def _anonymous_bytes(pid: int) -> int:
    try:
        _size, resident, shared, *_ = _read(f"{PROC}/{pid}/statm").split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


def _open_files(pid: int) -> int:
    folder = f"{PROC}/{pid}/fd"
    try:
        # Linux 6.2 and later give the number as the folder's size, without a look at each.
        return os.stat(folder).st_size or len(os.listdir(folder))
    except OSError:
        return 0


def _read(path: str) -> bytes:
    # A third of what pathlib takes, and this is read at each block for each worker.
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)


def _shm_used_bytes() -> int | None:
    try:
        status = os.statvfs(SHM)
    except OSError:
        return None
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def _busy_s() -> float:
    try:
        first_line = _read(f"{PROC}/stat").split(b"\n", 1)[0]
    except OSError:
        return 0.0
    user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = first_line.split()[1:]
    return sum(int(value) for value in (user, nice, system, irq, softirq, steal)) / _TICKS


def _kilobytes(pid: int, file: str, key: str) -> int:
    try:
        lines = (PROC / str(pid) / file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{key}:")), 0)
