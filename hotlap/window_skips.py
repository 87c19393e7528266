"""Updates that a GradScaler skips within a window: before that it looks for its scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotlap.errors import Diverged

MAX_SKIPPED = 0.5
"""With more than this share of skipped updates a scaler hardly trains; the trial has diverged."""


class WindowSkips:
    """Hands a trial's events on, and counts from the one that ends the warm-up.

    Args:
        emit: Where events go.
        counts: Updates asked for, and skipped, so far; asking may wait for the device.
        whose: What the sentence calls the scaler.
    """

    def __init__(
        self, emit: Callable[..., None], counts: Callable[[], tuple[int, int]], whose: str
    ) -> None:
        self._emit = emit
        self._counts = counts
        self._whose = whose
        self._before = 0, 0

    def __call__(self, event: str, **values: Any) -> None:
        """Emit an event."""
        self._emit(event, **values)
        if event == "warm":
            self._before = self._counts()

    def n_skipped(self) -> int:
        """Of the updates since then.

        Raises:
            Diverged: They are too many.
        """
        n_asked, n_skipped = (
            now - before for now, before in zip(self._counts(), self._before, strict=True)
        )
        if n_skipped > MAX_SKIPPED * n_asked:
            raise Diverged(
                f"{self._whose} skipped {n_skipped} of the window's {n_asked} updates, because "
                "gradients overflow: with these settings it hardly trains"
            )
        return n_skipped
