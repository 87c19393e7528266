"""What there is of this machine's CPU: its name, its instructions, the cores that may be used.

No torch here: the tuner asks it, too.
"""

from __future__ import annotations

import math
import os
import platform
import re
from pathlib import Path
from typing import Any

from hotlap.cgroup import cpu_quota

DRIVER = Path("/proc/driver/nvidia/version")


def cpu_facts() -> dict[str, Any]:
    """Its name, and how many cores this process may use; plain data."""
    affinity = _affinity()
    quota = cpu_quota()
    return {
        "cores": max(1, min(len(affinity), math.ceil(quota or len(affinity)))),
        "physical_cores": _physical_cores(affinity),
        "cpu": cpu_name(),
    }


def cpu_name() -> str:
    """The CPU's model name."""
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def cpu_flags() -> set[str]:
    """The instruction sets that Linux names for this CPU; empty elsewhere."""
    return set(_cpuinfo("flags", "Features").split())


def nvidia_driver(path: Path = DRIVER) -> str | None:
    """The version of NVIDIA's driver as Linux has it; None where it says nothing.

    Args:
        path: Where it stands; another file in tests.
    """
    try:
        found = re.search(r"\d+\.\d+(\.\d+)*", path.read_text(encoding="utf-8"))
    except OSError:  # no driver, or not Linux
        return None
    return found[0] if found else None


def _affinity() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))  # macOS has no affinity


def _physical_cores(cpus: list[int]) -> int:
    """Cores without hyper-threads: CPUs that share one list their siblings in the same words."""
    topology = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    paths = [Path(topology.format(cpu)) for cpu in cpus]
    if not all(path.exists() for path in paths):
        return len(cpus)
    return len({path.read_text(encoding="utf-8") for path in paths})


def _cpuinfo(*keys: str) -> str:
    """The first value of one of `keys` in /proc/cpuinfo; empty where there is none."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return ""
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in keys:
            return value.strip()
    return ""
