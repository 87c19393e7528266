"""NVIDIA GPUs as the driver's own library (NVML) sees them: no CUDA context is made.

Sources: the CUDA programming guide, "CUDA Environment Variables" (the forms of
CUDA_VISIBLE_DEVICES), and the NVML API reference. NVML counts by PCI bus, as CUDA does with
CUDA_DEVICE_ORDER=PCI_BUS_ID; on a machine with GPUs of several models CUDA may count otherwise.
"""

from __future__ import annotations

import os
from typing import Any


def nvidia_facts() -> dict[str, Any]:
    """The visible GPUs and the driver's version.

    Returns:
        `gpus`, a list of {index, uuid, name, memory_bytes, capability}, empty without a driver;
        `nvidia_driver`, its version or None; `nvml_error`, only where a driver is there that
        does not answer.
    """
    none: dict[str, Any] = {"gpus": [], "nvidia_driver": None}
    try:
        import pynvml as nvml
    except ImportError:  # an ordinary machine without a GPU, not a fault
        return none
    try:
        nvml.nvmlInit()
    except (nvml.NVMLError_LibraryNotFound, nvml.NVMLError_DriverNotLoaded):
        return none
    except nvml.NVMLError as error:
        return {**none, "nvml_error": str(error)}
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
        uuids = [nvml.nvmlDeviceGetUUID(handle) for handle in handles]
        chosen = visible(uuids, os.environ.get("CUDA_VISIBLE_DEVICES"))
        gpus: list[dict[str, Any]] = []
        for device in chosen:
            if isinstance(device, str):  # a slice of a GPU (MIG), known by its UUID
                handle = nvml.nvmlDeviceGetHandleByUUID(device)
            else:
                handle = handles[device]
            gpus.append(_gpu(nvml, handle, len(gpus)))
        return {"gpus": gpus, "nvidia_driver": nvml.nvmlSystemGetDriverVersion()}
    except nvml.NVMLError as error:
        return {**none, "nvml_error": str(error)}
    finally:
        nvml.nvmlShutdown()


def visible(uuids: list[str], variable: str | None) -> list[int | str]:
    """The devices that CUDA_VISIBLE_DEVICES leaves, in its order.

    Args:
        uuids: UUIDs of all GPUs.
        variable: The variable's value, None if it is not set.

    Returns:
        An index into `uuids` for each GPU, the UUID itself for a MIG slice. As in CUDA, the list
        ends before the first word that names no device.
    """
    if variable is None:
        return list(range(len(uuids)))
    devices: list[int | str] = []
    for word in (part.strip() for part in variable.split(",")):
        if word.startswith("MIG-"):
            devices.append(word)
            continue
        if word.isdigit() and int(word) < len(uuids):
            matches = [int(word)]
        elif word.startswith("GPU-"):  # CUDA takes the beginning of a UUID if it is unique
            matches = [i for i, uuid in enumerate(uuids) if uuid.startswith(word)]
        else:
            matches = []
        if len(matches) != 1:
            break
        devices += matches
    return devices


def _gpu(nvml: Any, handle: Any, index: int) -> dict[str, Any]:
    try:
        capability = ".".join(map(str, nvml.nvmlDeviceGetCudaComputeCapability(handle)))
    except nvml.NVMLError_NotSupported:  # some drivers do not answer it for a MIG slice
        capability = None
    return {
        "index": index,
        "uuid": nvml.nvmlDeviceGetUUID(handle),
        "name": nvml.nvmlDeviceGetName(handle),
        "memory_bytes": int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
        "capability": capability,
    }
