"""The device on which a script trains: its clock is read when that has come to a step's end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


def parameters_device(optimizer: Any) -> str:
    """Where an optimizer's parameters lie, with the device's number; "cpu" if all lie there.

    Of several devices it is the first one: some may be kept in host memory.
    """
    parameters = (p for group in optimizer.param_groups for p in group["params"])
    devices = (p.device for p in parameters)
    return next((str(device) for device in devices if device.type != "cpu"), "cpu")


def device_of(parameters: Iterable[str], roots: Iterable[str]) -> torch.device:
    """Where a script trains.

    That is where its parameters lie, whoever calls the model and in whichever thread. An optimizer
    may be kept in host memory while the model works on a device.

    Args:
        parameters: Where those of each optimizer lie that has stepped.
        roots: Where the modules lie that were called.
    """
    found = (name for name in (*parameters, *roots) if name != "cpu")
    device = torch.device(next(found, "cpu"))
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device
