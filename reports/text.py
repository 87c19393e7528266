"""Numbers and settings as a person reads them; used by every report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hotlap.spoken import MISSING

KIB = 1024
BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def number(value: float | None, digits: int = 4) -> str:
    """`value` with about `digits` significant digits, never scientific: 17,655 and 12.35."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def times(value: float | None) -> str:
    """A ratio, as 1.31x."""
    return MISSING if value is None or not math.isfinite(value) else f"{value:.2f}x"


def milliseconds(seconds: float | None) -> str:
    """Seconds written in milliseconds."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    return f"{number(seconds * 1e3, 3)} ms"


def size(n_bytes: float | None) -> str:
    """Bytes with a 1024-based unit."""
    if n_bytes is None:
        return MISSING
    power = 0
    while n_bytes >= KIB and power < len(BYTE_UNITS) - 1:
        n_bytes, power = n_bytes / KIB, power + 1
    return f"{number(n_bytes, 3)} {BYTE_UNITS[power]}"


def clock(seconds: float) -> str:
    """A time span as 3:12 or 1:02:05; less than nothing is nothing."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def duration(seconds: float) -> str:
    """A time span of any length: 8.31 s below a minute, then 3:12 or 1:02:05."""
    if not math.isfinite(seconds):
        return MISSING
    return f"{number(seconds, 3)} s" if 0 <= seconds < 60 else clock(seconds)


def value(item: Any) -> str:
    """A setting's or a fact's value as YAML writes it.

    Null and the empty text leave the choice to PyTorch: `default`.
    """
    if item is None or item == "":
        return "default"
    if isinstance(item, (list, tuple)):
        return ", ".join(value(part) for part in item)
    return str(item).lower() if isinstance(item, bool) else str(item)


def assignments(settings: Mapping[str, Any]) -> str:
    """`num_workers=2 memory_format=channels_last`, or that nothing is changed."""
    return " ".join(f"{k}={value(v)}" for k, v in settings.items()) or "nothing changed"
