"""Settings that hold for a whole process: threads, backend flags, attention kernels.

Sources: PyTorch's notes on CUDA semantics (TF32), on CPU threading, and torch.backends' reference.
"""

from __future__ import annotations

import os

import torch

from hotlap import environment
from hotlap.errors import InvalidTrial
from hotlap.notes import Note, one_line, tell
from hotlap.settings import Settings

SDPA_SWITCHES = {
    "math": torch.backends.cuda.enable_math_sdp,
    "flash": torch.backends.cuda.enable_flash_sdp,
    "efficient": torch.backends.cuda.enable_mem_efficient_sdp,
    "cudnn": torch.backends.cuda.enable_cudnn_sdp,
}
"""One switch for each attention kernel. They live in `backends.cuda`; the CPU reads them too."""


def apply_process(settings: Settings) -> list[Note]:
    """Put the process-wide part of `settings` in force; what could not be done comes back as notes.

    Call it before any other work: the inter-op thread count can be set only once, and first.
    Calling it again is harmless. Settings whose value is None or "default" touch nothing.
    """
    notes: list[Note] = []
    _set_threads(settings, notes)
    _set_precision(settings)
    torch.backends.cudnn.benchmark = settings.cudnn_benchmark
    torch.backends.cudnn.benchmark_limit = settings.cudnn_benchmark_limit
    torch.backends.cudnn.deterministic = settings.cudnn_deterministic
    _choose_attention(settings.sdpa_backend)
    _check_environment(settings, notes)
    return notes


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


def _set_precision(settings: Settings) -> None:
    # The legacy switches on purpose: after a write through the new ones (`fp32_precision`, torch
    # 2.9) every legacy read raises, in user code and in the compiler; after a legacy write both
    # kinds of read work (pytorch#166387). A general new switch that is already set would win over
    # "no TF32", so it goes back to its default.
    for place in (torch.backends, torch.backends.cudnn):
        if getattr(place, "fp32_precision", "none") != "none":
            setattr(place, "fp32_precision", "none")  # noqa: B010  (older torch has no such name)
    torch.set_float32_matmul_precision(settings.float32_matmul_precision)
    torch.backends.cudnn.allow_tf32 = settings.cudnn_allow_tf32


def _choose_attention(backend: str) -> None:
    # Process-wide rather than a context around each step: so it holds in anybody's loop and in
    # whatever a compiler traces.
    if backend == "default":
        return
    for name, switch in SDPA_SWITCHES.items():
        switch(name == backend)


def _check_environment(settings: Settings, notes: list[Note]) -> None:
    # These are read when a process starts. The runner starts it with them; a script started in
    # another way has to be told.
    groups = {
        "omp_wait_policy": ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"),
        "allocator": ("LD_PRELOAD",),
        "cuda_alloc_conf": ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"),
    }
    try:
        wanted = environment.variables(settings, {})
    except InvalidTrial as error:
        tell(notes, "allocator", one_line(error))
        return
    for setting, names in groups.items():
        missing = [
            f"{name}={wanted[name]}"
            for name in names
            if name in wanted and not _is_set(name, wanted[name])
        ]
        if missing:
            tell(
                notes,
                setting,
                f"it is read when a process starts; start this one with {' '.join(missing)}",
            )


def _is_set(name: str, value: str) -> bool:
    present = os.environ.get(name, "")
    if name == "LD_PRELOAD":
        return value in present.replace(" ", ":").split(":")
    return present.lower() == value.lower()
