"""How to wait for a device, which works beside the host: until then a clock says nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hotlap.errors import InvalidTrial

AT_ONCE = ("cpu", "meta")
"""What is called here is done when the call returns."""


def device_wait(device: torch.device) -> Callable[[], None]:
    """A function that returns when all that is queued on `device` is done.

    Only CUDA has a DeviceMark too (hotlap/device_mark.py); on other devices each block is drained
    (hotlap/block_timer.py).

    Raises:
        InvalidTrial: torch does not say how to wait for a device of this kind.
    """
    if device.type in AT_ONCE:
        return lambda: None
    if device.type == "cuda":
        return lambda: torch.cuda.synchronize(device)
    general: Any = getattr(torch, "accelerator", None)  # since torch 2.6
    current = general.current_accelerator() if general is not None else None
    if current is not None and current.type == device.type:
        return lambda: general.synchronize(device)
    wait = getattr(getattr(torch, device.type, None), "synchronize", None)
    if wait is None:
        raise InvalidTrial(
            f"training runs on {device}, and torch has no torch.{device.type}.synchronize() to "
            "wait for it by: the time of queueing its work would be measured, and not that of "
            "training; hotlap can time the CPU, CUDA, and devices that have one, as xpu"
        )
    return lambda: wait(device)
