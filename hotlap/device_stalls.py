"""DeviceStalls: for how long a CUDA device had nothing to do while a batch was waited for.

A host that runs ahead of its device takes what the loader has ready, and then waits for the loader
while the device still has steps to do. Such a wait costs nothing, however long it is. So one event
is put into the device's queue before each wait and one after it: what lies between them on the
device's own clock is what the device stood still for.
"""

from __future__ import annotations

from collections import deque

import torch


class DeviceStalls:
    """Waits for batches as the device sees them; see hotlap.feed.Stalls.

    Args:
        device: Of the current stream in which the steps are queued.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._start: torch.cuda.Event | None = None
        self._pairs: deque[tuple[torch.cuda.Event, torch.cuda.Event]] = deque()
        self._free: list[torch.cuda.Event] = []  # a step may take half a millisecond: used again
        self._seconds = 0.0

    def begin(self) -> None:
        """A batch is waited for from here on."""
        if self._start is None:  # else a wait that came to nothing, as at an epoch's end
            self._start = self._event()
        self._start.record(torch.cuda.current_stream(self._device))

    def end(self) -> None:
        """It has come."""
        if self._start is None:
            return
        end = self._event()
        end.record(torch.cuda.current_stream(self._device))
        self._pairs.append((self._start, end))
        self._start = None

    def seconds(self) -> float:
        """Of all waits that the device has passed by now; does not wait for it."""
        n = len(self._pairs)
        while n and not self._pairs[n - 1][1].query():  # type: ignore[no-untyped-call]
            n -= 1
        for _ in range(n):
            start, end = self._pairs.popleft()
            self._seconds += start.elapsed_time(end) / 1e3  # torch tells milliseconds
            self._free += start, end
        return self._seconds

    def _event(self) -> torch.cuda.Event:
        if self._free:
            return self._free.pop()
        return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
