"""Meter: a full run's rate."""

from __future__ import annotations

import time

REPORT_S = 1.0
"""Between two `step` events; each reads the loss and so waits for the device once."""


class Meter:
    """Samples per second from a session's first step on, checkpoints not counted."""

    def __init__(self) -> None:
        self.samples = 0
        self.seconds = 0.0
        self._last_samples = 0
        self._last = time.perf_counter()

    def begin(self) -> None:
        """Count from now: what lies before was start-up, or a checkpoint."""
        self._last = time.perf_counter()
        self._last_samples = self.samples

    def due(self) -> bool:
        """Whether a report's time has come."""
        return time.perf_counter() - self._last >= REPORT_S

    def lap(self) -> float:
        """Samples per second since the last lap."""
        now = time.perf_counter()
        lap_s, lap_samples = now - self._last, self.samples - self._last_samples
        self.seconds += lap_s
        self._last, self._last_samples = now, self.samples
        return lap_samples / lap_s if lap_s > 0 else 0.0

    def total(self) -> float:
        """Samples per second over all laps."""
        return self.samples / self.seconds if self.seconds > 0 else 0.0
