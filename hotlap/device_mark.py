"""DeviceMark: says when a CUDA device has come to a certain step, without making it wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class DeviceMark:
    """Marks the end of a step in the device's queue (see hotlap/block_timer.py).

    The loss is copied within the queue: reading it later would wait for all that was queued since.

    Args:
        device: Of the current stream in which the steps are queued.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._passed = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._loss = torch.zeros((), pin_memory=True, device="cpu")  # whatever the default is

    def __call__(self, loss: Any) -> Callable[[], Any]:
        """Mark the end of what is queued; the function returned waits for it, and gives `loss`."""
        on_device = isinstance(loss, torch.Tensor) and loss.is_cuda
        if on_device:
            self._loss.copy_(loss.detach().reshape(()), non_blocking=True)
        self._passed.record(torch.cuda.current_stream(self._device))

        def wait() -> Any:
            self._passed.synchronize()
            return self._loss if on_device else loss

        return wait
