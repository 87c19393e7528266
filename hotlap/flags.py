"""Settings that hold for a whole process: threads, backend flags, attention kernels.

Sources: PyTorch's notes on CUDA semantics (TF32), on CPU threading, and torch.backends' reference.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

import torch

from hotlap import environment
from hotlap.errors import InvalidTrial
from hotlap.notes import Note, one_line, tell
from hotlap.settings import NAMES, Settings

SDPA_SWITCHES = {
    "math": torch.backends.cuda.enable_math_sdp,
    "flash": torch.backends.cuda.enable_flash_sdp,
    "efficient": torch.backends.cuda.enable_mem_efficient_sdp,
    "cudnn": torch.backends.cuda.enable_cudnn_sdp,
}
"""One switch for each attention kernel. They live in `backends.cuda`; the CPU reads them too."""

SDPA_STATES: Mapping[str, Any] = {
    "math": torch.backends.cuda.math_sdp_enabled,
    "flash": torch.backends.cuda.flash_sdp_enabled,
    "efficient": torch.backends.cuda.mem_efficient_sdp_enabled,
    "cudnn": torch.backends.cuda.cudnn_sdp_enabled,
}
"""What tells how each of them stands."""


def apply_process(settings: Settings, names: Collection[str] = NAMES) -> list[Note]:
    """Put the process-wide part of `settings` in force; what could not be done comes back as notes.

    Call it before any other work: the inter-op thread count can be set only once, and first.
    Calling it again is harmless. Settings whose value is None or "default" touch nothing.

    An attention kernel holds for an evaluation as well, which may run in another precision or with
    a mask: put it into `torch.nn.attention.sdpa_kernel([...])` with all kernels, or into the same
    `hotlap.autocast`, where flash and cuDNN attention (half precision only) would fail.

    Args:
        settings: What to put in force.
        names: Backend flags and attention kernels that are not among them stay as they are.
    """
    notes: list[Note] = []
    _set_threads(settings, notes)
    _set_precision(settings, names)
    for name in ("benchmark", "benchmark_limit", "deterministic"):
        if f"cudnn_{name}" in names:
            setattr(torch.backends.cudnn, name, getattr(settings, f"cudnn_{name}"))
    # Process-wide rather than a context around each step: so it holds in anybody's loop and in
    # whatever a compiler traces.
    if "sdpa_backend" in names and settings.sdpa_backend != "default":
        set_attention(only(settings.sdpa_backend))
    _check_environment(settings, notes)
    return notes


def only(backend: str) -> dict[str, bool]:
    """How the switches stand where torch may take this attention kernel alone; "default": any."""
    return {name: backend in (name, "default") for name in SDPA_SWITCHES}


def attention() -> dict[str, bool]:
    """How they stand now."""
    return {name: state() for name, state in SDPA_STATES.items()}


def set_attention(switches: Mapping[str, bool]) -> None:
    """Set all of them."""
    for name, switch in SDPA_SWITCHES.items():
        switch(switches[name])


def _set_threads(settings: Settings, notes: list[Note]) -> None:
    if settings.intraop_threads is not None:
        torch.set_num_threads(settings.intraop_threads)
    wanted = settings.interop_threads
    if wanted is None or torch.get_num_interop_threads() == wanted:
        return
    try:
        torch.set_num_interop_threads(wanted)
    except RuntimeError:  # torch allows it once in a process, before any parallel work
        tell(
            notes,
            "interop_threads",
            f"this process already runs with {torch.get_num_interop_threads()}, and torch sets "
            "the number once, before any parallel work; call hotlap.apply_process first",
        )


def _set_precision(settings: Settings, names: Collection[str]) -> None:
    # The legacy switches on purpose: after a write through the new ones (`fp32_precision`, torch
    # 2.9) every legacy read raises, in user code and in the compiler; after a legacy write both
    # kinds of read work (pytorch#166387).
    if "float32_matmul_precision" in names:
        torch.set_float32_matmul_precision(settings.float32_matmul_precision)
    cudnn: Any = torch.backends.cudnn
    if "cudnn_allow_tf32" in names:
        cudnn.allow_tf32 = settings.cudnn_allow_tf32
        if not settings.cudnn_allow_tf32 and hasattr(cudnn, "conv"):
            # "no TF32" is as good as unset to a general new switch; these win over that.
            cudnn.conv.fp32_precision = cudnn.rnn.fp32_precision = "ieee"


def _check_environment(settings: Settings, notes: list[Note]) -> None:
    # These are read when a process starts. The runner starts it with them; a script started in
    # another way has to be told.
    try:
        wanted = environment.variables(settings, {})
    except InvalidTrial as error:
        tell(notes, "allocator", one_line(error))
        return
    missing = environment.missing(wanted, os.environ)
    for setting, names in environment.VARIABLES.items():
        if lacking := [f"{name}={missing[name]}" for name in names if name in missing]:
            tell(
                notes,
                setting,
                f"it is read when a process starts; start this one with {' '.join(lacking)}",
            )
