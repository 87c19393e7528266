"""Limits that a winner keeps. A constraint is a number as Optuna wants it: fine up to 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotlap.measurement import Measurement

MIB = 1 << 20


def violations(
    measurement: Measurement, limits: Mapping[str, float], facts: Mapping[str, Any]
) -> tuple[float, ...]:
    """By how much the measurement breaks each limit; 0 or less is fine.

    Args:
        measurement: What a trial measured.
        limits: `device_memory`, the share (0..1) of the device's memory that torch may reserve at
            its peak: the rest is head-room for fragments, validation and checkpoints.
        facts: Machine facts and workload facts, in one mapping.

    Returns:
        One number a limit, in the order of `limits`: the share used less the share allowed. It is
        -1 where nothing can be said, as without a device.

    Raises:
        KeyError: There is no such limit.
    """
    return tuple(_EXCESS[name](measurement, limit, facts) for name, limit in limits.items())


def reasons(
    measurement: Measurement, limits: Mapping[str, float], facts: Mapping[str, Any]
) -> list[str]:
    """A sentence for each limit that is broken."""
    found = []
    for (name, limit), excess in zip(
        limits.items(), violations(measurement, limits, facts), strict=True
    ):
        if excess > 0:
            peak, total = measurement.peak_device_bytes or 0, device_bytes(facts) or 0
            found.append(
                f"it reserved {peak // MIB} MiB of the device's {total // MIB} MiB, which is "
                f"{peak / total:.0%}, and constraints.{name}={limit} allows {limit:.0%}"
            )
    return found


def device_bytes(facts: Mapping[str, Any]) -> int | None:
    """Memory of the GPU that the workload runs on; None on the CPU or if it is unknown.

    The worker says what CUDA gives it. Facts of an older table have the driver's list alone, whose
    order may be another one, and where a slice of a GPU (MIG) may have the whole GPU's memory.
    """
    if known := facts.get("device_memory_bytes"):
        return int(known)
    kind, _, number = str(facts.get("device", "")).partition(":")
    gpus = facts.get("gpus") or []
    if kind != "cuda" or int(number or 0) >= len(gpus):
        return None
    own = gpus[int(number or 0)]["memory_bytes"]
    return None if own is None else int(own)


def _device_memory(measurement: Measurement, limit: float, facts: Mapping[str, Any]) -> float:
    total = device_bytes(facts)
    if total is None or measurement.peak_device_bytes is None:
        return -1.0
    return measurement.peak_device_bytes / total - limit


_EXCESS = {"device_memory": _device_memory}
