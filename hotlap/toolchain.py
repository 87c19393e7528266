"""Facts about torch, its device and the compilers beside it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import torch

from hotlap.machine import cpu_flags, cpu_name

BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16", "svebf16"}
"""CPU flags (x86-64, then arm64) of real bf16 instructions; without them bf16 is emulated, slowly.
"""

BF16_CAPABILITY = (8, 0)
"""NVIDIA Ampere, compute capability 8.0, is the first with bf16 and with TF32 tensor cores."""

TRITON_CAPABILITY = (7, 0)
"""NVIDIA Volta, compute capability 7.0, is the first that Triton, and so torch.compile, takes."""


def versions(cuda: bool | None = None) -> dict[str, Any]:
    """Versions of Python, torch and what belongs to it; None for what is not there.

    torchvision's is given if the workload imported it.

    Args:
        cuda: Whether to ask CUDA for its own; None asks it whether it is there, which begins with
            it in this process.
    """
    vision = sys.modules.get("torchvision")
    cuda = torch.cuda.is_available() if cuda is None else cuda
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torchvision": getattr(vision, "__version__", None),
        "cuda": torch.version.cuda if cuda else None,
        "cudnn": torch.backends.cudnn.version() if cuda else None,  # type: ignore[no-untyped-call]
    }


def device_facts(device: torch.device) -> dict[str, Any]:
    """The device's name and what it can: `bf16`, `fp16`, `tf32` (true only if in hardware).

    Of a CUDA device also `capability`, [major, minor], `device_memory_bytes` and
    `cuda_allocator`, "native" or "cudaMallocAsync" (see CUDA semantics notes); None for others.
    """
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        capability = (properties.major, properties.minor)
        ampere = capability >= BF16_CAPABILITY
        with torch.cuda.device(device):  # torch answers for the current one
            bf16 = ampere and torch.cuda.is_bf16_supported()
        return {
            "device": str(device),
            "device_name": properties.name,
            "capability": list(capability),
            "device_memory_bytes": properties.total_memory,
            "cuda_allocator": torch.cuda.get_allocator_backend(),
            "bf16": bf16,
            "fp16": True,
            "tf32": ampere,
        }
    return {
        "device": str(device),
        "device_name": cpu_name() if device.type == "cpu" else device.type,
        "capability": None,
        "device_memory_bytes": None,
        "cuda_allocator": None,
        "bf16": device.type == "cpu" and bool(BF16_FLAGS & cpu_flags()),
        "fp16": False,
        "tf32": False,
    }


def device_uuid(device: torch.device) -> str | None:
    """By what the driver knows a CUDA device, whatever its number here; None if torch is silent.

    Numbers depend on CUDA_VISIBLE_DEVICES, which a script may write, and on CUDA_DEVICE_ORDER.
    """
    if device.type != "cuda":
        return None
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    return None if uuid is None else str(uuid)


def has_compiler(device: torch.device) -> bool:
    """Whether torch.compile's backend finds what it needs for this device.

    inductor compiles C++ for the CPU; for CUDA it needs triton, which compiles a C launcher, and a
    GPU that triton knows. Both include Python's headers.
    """
    if not Path(sysconfig.get_paths()["include"], "Python.h").is_file():
        return False
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        if (properties.major, properties.minor) < TRITON_CAPABILITY:
            return False
        names = (os.environ.get("CC"), "cc", "gcc", "clang")
        return importlib.util.find_spec("triton") is not None and _first_working(names)
    return _first_working((os.environ.get("CXX"), "g++", "clang++", "c++"))


def _first_working(names: tuple[str | None, ...]) -> bool:
    for name in names:
        path = shutil.which(name) if name else None
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return True
    return False
