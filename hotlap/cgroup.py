"""What a container may use: the CPU quota and the memory limit of our control group.

`os.cpu_count()` and the installed memory are the host's, which in a container promise too much.
Both versions of the interface are read, and every group from our own up to the root, because the
tightest one holds.

Sources: the Linux kernel's admin guide, "Control Group v2" (cpu.max, memory.max), "CFS Bandwidth
Control" (cpu.cfs_quota_us) and "Memory Resource Controller" (memory.limit_in_bytes).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

UNLIMITED_BYTES = 1 << 60
"""Version 1 writes "no limit" as the largest page-aligned number; nobody has an exbibyte."""


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Cores' worth of CPU time that our control group may use, or None without a limit.

    Args:
        root: Where the file system begins; another folder in tests.
    """
    found = []
    for folder in _folders(root, ""):
        words = _read(folder / "cpu.max").split()
        if len(words) == 2 and words[0] != "max":
            found.append(int(words[0]) / int(words[1]))
    for folder in _folders(root, "cpu"):
        quota = _read(folder / "cpu.cfs_quota_us")
        period = _read(folder / "cpu.cfs_period_us")
        if quota and period and int(quota) > 0:
            found.append(int(quota) / int(period))
    return min(found, default=None)


def memory_limit(root: Path = Path("/")) -> int | None:
    """Bytes of host memory that our control group may use, or None without a limit.

    Args:
        root: Where the file system begins; another folder in tests.
    """
    texts = [_read(folder / "memory.max") for folder in _folders(root, "")]
    texts += [_read(folder / "memory.limit_in_bytes") for folder in _folders(root, "memory")]
    limits = [int(text) for text in texts if text.isdigit()]
    return min((limit for limit in limits if limit < UNLIMITED_BYTES), default=None)


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Our group's folder for a controller ("" is version 2) and all folders above it."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / controllers
        folder = top / path.strip("/")
        # Inside a container the path may be the host's, while the mount shows our own group as
        # its root: folders that are not there give nothing.
        while True:
            yield folder
            if folder == top or top not in folder.parents:
                break
            folder = folder.parent


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:  # not Linux, the other version, or not ours to read: no limit is known there
        return ""
