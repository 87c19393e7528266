"""The machine as a benchmark's output states it: load, versions. No torch here."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The clone."""

PACKAGES = ("torch", "torchvision", "optuna", "mlflow")


def uptime() -> str:
    """Time of day, seconds since boot and the load averages: one line, as `uptime` prints them."""
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    up_min = time.clock_gettime(time.CLOCK_BOOTTIME) / 60 if hasattr(time, "CLOCK_BOOTTIME") else 0
    now = time.strftime("%H:%M:%S")
    return f"{now} up {up_min:.0f} min, load average: {load}, {os.cpu_count()} cores"


def versions() -> str:
    """Python's and the packages' versions, those that are installed."""
    found = [f"python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
