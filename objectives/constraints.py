"""Limits that a winner keeps. A constraint is a number as Optuna wants it: fine up to 0."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hotlap.measurement import Measurement

MIB = 1 << 20

NEAR = 0.01
"""A winner may use so much more than a baseline that is above a limit: two processes that run the
same do not reserve the very same."""


class Constraints:
    """The limits of one study. Nobody has to keep one that the baseline breaks itself.

    Then a winner may use about what the baseline does: else nothing could ever win.

    Args:
        limits: As of `violations`.
        facts: As of `violations`.
        note: Gets a sentence for each limit that the baseline breaks.
    """

    def __init__(
        self,
        limits: Mapping[str, float],
        facts: Mapping[str, Any],
        note: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._limits = dict(limits)
        self._facts = facts
        self._note = note
        self._raised: set[str] = set()

    def allow(self, baseline: Sequence[float]) -> None:
        """Take the baseline's own violations, any session's, into account; the first ones count."""
        for (name, limit), excess in zip(list(self._limits.items()), baseline, strict=True):
            if excess > 0 and name not in self._raised:
                self._raised.add(name)
                self._limits[name] = limit + excess + NEAR
                self._note(
                    f"the baseline itself is at {limit + excess:.0%}, and constraints.{name}="
                    f"{limit:g} allows {limit:.0%}: a winner may use about what the baseline does"
                )

    def violations(self, measurement: Measurement) -> tuple[float, ...]:
        """By how much the measurement breaks each of them; 0 or less is fine."""
        return violations(measurement, self._limits, self._facts)

    def reasons(self, measurement: Measurement) -> list[str]:
        """A sentence for each one that it breaks."""
        return reasons(measurement, self._limits, self._facts, self._raised)


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
    measurement: Measurement,
    limits: Mapping[str, float],
    facts: Mapping[str, Any],
    raised: Collection[str] = (),
) -> list[str]:
    """A sentence for each limit that is broken; `raised` are those that the baseline has raised."""
    found = []
    for (name, limit), excess in zip(
        limits.items(), violations(measurement, limits, facts), strict=True
    ):
        if excess > 0:
            peak, total = measurement.peak_device_bytes or 0, device_bytes(facts) or 0
            of_whom = "the baseline's own peak" if name in raised else f"constraints.{name}={limit}"
            found.append(
                f"it reserved {peak // MIB} MiB of the device's {total // MIB} MiB, which is "
                f"{peak / total:.0%}, and {of_whom} allows {limit:.0%}"
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
