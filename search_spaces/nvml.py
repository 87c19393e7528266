"""NVIDIA GPUs as the driver's own library (NVML) sees them: no CUDA context is made.

Sources: the CUDA programming guide, "CUDA Environment Variables" (the forms of
CUDA_VISIBLE_DEVICES), and the NVML API reference. NVML counts by PCI bus, as CUDA does with
CUDA_DEVICE_ORDER=PCI_BUS_ID; on a machine with GPUs of several models CUDA may count otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any


def nvidia_facts() -> dict[str, Any]:
    """The visible GPUs and the driver's version.

    Returns:
        `gpus`, a list of {index, uuid, name, memory_bytes, capability}, empty without a driver;
        what it does not answer of a GPU is None, and one that it denies to this process is not in
        the list, as CUDA does not show it either. `nvidia_driver`, its version or None;
        `nvml_error`, only where a driver is there that tells of no GPU.
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
        driver = _answer(nvml, nvml.nvmlSystemGetDriverVersion)
        try:
            gpus, refused = _visible_gpus(nvml)
        except nvml.NVMLError as error:
            gpus, refused = [], str(error)
    finally:
        nvml.nvmlShutdown()
    silence = {"nvml_error": refused} if refused and not gpus else {}
    return {"gpus": gpus, "nvidia_driver": driver, **silence}


def _visible_gpus(nvml: Any) -> tuple[list[dict[str, Any]], str]:
    """The visible GPUs that answer, and what NVML says of those that do not, or "".

    Raises:
        NVMLError: It does not even count them.
    """
    handles, refused = [], ""
    for i in range(nvml.nvmlDeviceGetCount()):
        try:
            handles.append(nvml.nvmlDeviceGetHandleByIndex(i))
        except nvml.NVMLError as error:  # of others, where a container or a job may use some only
            refused = str(error)
    uuids = [_answer(nvml, nvml.nvmlDeviceGetUUID, handle) or "" for handle in handles]
    gpus: list[dict[str, Any]] = []
    for device in visible(uuids, os.environ.get("CUDA_VISIBLE_DEVICES")):
        if isinstance(device, int):
            handle = handles[device]
        else:  # a slice of a GPU (MIG), known by its UUID
            try:
                handle = nvml.nvmlDeviceGetHandleByUUID(device)
            except nvml.NVMLError as error:
                refused = str(error)
                continue
        gpus.append(_gpu(nvml, handle, len(gpus)))
    return gpus, refused


def unanswered(facts: Mapping[str, Any]) -> list[str]:
    """A sentence, if a study on a CUDA device goes without what NVML tells; else nothing.

    Args:
        facts: Machine facts and workload facts in one mapping.
    """
    error = facts.get("nvml_error")
    if not error or not str(facts.get("device", "")).startswith("cuda"):
        return []
    return [
        f"the NVIDIA driver's library (NVML) tells of no GPU here: {error}; so nothing is known of "
        "others on the GPU, or of what holds its clocks down, unless it answers during the trials"
    ]


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
    # Some drivers do not answer the last one for a MIG slice, and a GPU that shares the host's
    # memory has none of its own to tell of.
    memory = _answer(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    capability = _answer(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    return {
        "index": index,
        "uuid": _answer(nvml, nvml.nvmlDeviceGetUUID, handle),
        "name": _answer(nvml, nvml.nvmlDeviceGetName, handle) or "unknown",
        "memory_bytes": None if memory is None else int(memory.total),
        "capability": None if capability is None else ".".join(map(str, capability)),
    }


def _answer(nvml: Any, ask: Callable[..., Any], *of: Any) -> Any:
    """What NVML answers, or None where it refuses."""
    try:
        return ask(*of)
    except nvml.NVMLError:
        return None
