"""What benchmarks share: the machine as they state it, columns, counts, how they end. No torch."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The clone."""

PACKAGES = ("torch", "torchvision", "optuna", "mlflow")

UNJUDGED = 3
"""Exit code where something could not be measured, so that nobody knows whether the claim holds:
1 says that it does not, and 2 that the input is wrong."""


class Unmeasured(Exception):
    """Something could not be measured; the text is what it said in its end."""


def count(text: str) -> int:
    """The type of an option that counts what is measured: of nothing, nothing can be claimed."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def interruptible(main: Callable[[list[str]], int], argv: list[str]) -> int:
    """The exit code of `main`; Ctrl-C lets it clean up, and is a word and no traceback.

    Python itself ends with 1 on any error, which would say that the claim does not hold.
    """
    from conf.interrupt import INTERRUPTED, raise_again  # it takes over as soon as imported

    raise_again()
    try:
        return main(argv)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Unmeasured as error:
        print(error, file=sys.stderr)
        return UNJUDGED
    except Exception:
        traceback.print_exc()
        return UNJUDGED


def conclude(claim: str, broken: Sequence[str], unmeasured: Sequence[str]) -> int:
    """Print the claim with what breaks it, and what is not known of it; the exit code."""
    unknown = f"; not measured: {', '.join(unmeasured)}" if unmeasured else ""
    print(f"{claim}: {', '.join(broken) or 'none'}{unknown}")
    return 1 if broken else UNJUDGED if unmeasured else 0


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


def columns(lines: Sequence[Sequence[str]]) -> str:
    """Lines of equally many cells as text, each column two characters wider than it needs."""
    widths = [max(map(len, cells)) + 2 for cells in zip(*lines, strict=True)]
    return "\n".join("".join(map(str.ljust, line, widths)).rstrip() for line in lines)
