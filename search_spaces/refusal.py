"""Settings that are known to fail on this machine, without a trial.

A knob's values are left out one by one (search_spaces/active.py); here stand those that fail only
together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotlap.settings import CUDA_GRAPH_MODES, Settings
from search_spaces.auto import fits_shm, shm_need_bytes

MIB = 1 << 20

ASYNC = "cudaMallocAsync"
"""CUDA's own allocator. torch's CUDA graphs ask theirs for more than it can do: what lives in a
graph's pool, and to put that back as it was (pytorch#158641)."""


def refusal(settings: Settings, facts: Mapping[str, Any]) -> str:
    """Why `settings` would fail, or empty if nothing is known.

    Args:
        settings: What would be tried.
        facts: Machine facts and workload facts in one mapping.
    """
    return (
        _shared_memory(settings, facts)
        or _cuda_graphs(settings, facts)
        or _attention(settings, facts)
    )


def _shared_memory(settings: Settings, facts: Mapping[str, Any]) -> str:
    workers, prefetch = settings.num_workers, settings.prefetch_factor
    if workers == 0 or fits_shm(workers, prefetch, facts):
        return ""
    return (
        f"shared memory: needs about {workers} workers x {prefetch} "
        f"batches x {facts['batch_bytes'] / MIB:.1f} MiB = "
        f"{shm_need_bytes(workers, prefetch, facts) / MIB:.0f} MiB, /dev/shm has "
        f"{facts['shm_free_bytes'] / MIB:.0f} MiB free; enlarge it (docker run --shm-size)"
    )


def _cuda_graphs(settings: Settings, facts: Mapping[str, Any]) -> str:
    cuda = str(facts.get("device", "")).startswith("cuda")
    if not cuda or settings.compile_mode not in CUDA_GRAPH_MODES:
        return ""
    if _allocator(settings.cuda_alloc_conf, facts) != ASYNC:
        return ""
    return (
        f"CUDA graphs: compile_mode={settings.compile_mode} replays them, and torch cannot in "
        f"memory of {ASYNC} (pytorch#158641); take another cuda_alloc_conf, or compile_mode=default"
    )


def _attention(settings: Settings, facts: Mapping[str, Any]) -> str:
    """Some attention kernels take half precision only, which autocast gives them."""
    full, kernel = facts.get("sdpa_backends_float32"), settings.sdpa_backend
    if not full or kernel in ("default", *full) or settings.amp != "none":
        return ""
    return (
        f"attention: sdpa_backend={kernel} takes half precision only, and nothing is in it with "
        f"amp=none; take amp=bf16, or one of sdpa_backend={', '.join(full)}"
    )


def _allocator(conf: str, facts: Mapping[str, Any]) -> str:
    """Which one is in force with this cuda_alloc_conf, which replaces the user's own variable."""
    if not conf:
        return str(facts.get("cuda_allocator"))
    options = (option.partition(":") for option in conf.split(","))
    return {name.strip(): value.strip() for name, _, value in options}.get("backend", "native")
