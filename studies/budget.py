"""Budget: one wall-clock allowance for the whole command."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from hotlap.job import Window

END_S, END_SHARE = 4.0, 0.08
"""What is kept back to end in: seconds, and the most of the allowance, for short ones."""

LEAST_WINDOW, WARMUP = 1 / 60, 1 / 20
"""The most of the allowance that the shortest window, or a warm-up, may take."""

WINDOW = 1 / 300
"""The most of it that a longer window may take: many trials tell more than long ones."""


class Budget:
    """Seconds that the whole command may take, counted from `start`.

    Args:
        seconds: The allowance.
        start: When the command began, on `clock`; now by default.
        clock: Seconds; a virtual one for replayed studies.
    """

    def __init__(
        self,
        seconds: float,
        start: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds = seconds
        self._clock = clock
        self._start = clock() if start is None else start

    def spent(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    def left(self, keep: float = 0.0) -> float:
        """Seconds left, less the share `keep` (0..1) of the allowance that later stages need.

        Some seconds are always kept back to end in: processes to close, reports to write.
        """
        end_s = min(END_S, END_SHARE * self.seconds)
        return max(0.0, self.seconds * (1 - keep) - end_s - self.spent())

    def shortened(self, window: Window) -> Window:
        """`window`, its parts no longer than their share: trials have to fit in."""
        min_s, max_s = window_s(window, self.seconds)
        return replace(
            window,
            max_s=max_s,
            min_s=min_s,
            max_warmup_s=min(window.max_warmup_s, self.seconds * WARMUP),
            patience_s=min(window.max_s, self.seconds * LEAST_WINDOW),
        )


def window_s(window: Window, budget_s: float) -> tuple[float, float]:
    """How long windows are at the least and at the most in a study of `budget_s` seconds."""
    min_s = min(window.min_s, window.max_s, budget_s * LEAST_WINDOW)
    return min_s, min(window.max_s, max(min_s, budget_s * WINDOW))
