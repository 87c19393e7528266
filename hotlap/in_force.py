"""Reads back from torch what is in force: the proof that applying settings had its effect.

Used by the tests, and by the check on a GPU, where the same must come out as on the CPU.
"""

from __future__ import annotations

import multiprocessing
from typing import Any

import torch
from torch.utils.data import DataLoader

from hotlap.apply import Applied
from hotlap.batches import has_image_rank, to_device
from hotlap.flags import attention
from hotlap.modules import layout_of
from hotlap.precision import DTYPES, autocast


def in_force(applied: Applied) -> dict[str, Any]:
    """Setting -> its value as torch itself tells it.

    Missing: what torch does not tell (the compile mode, the allocator), and what this workload
    does not have (a loader, a 4-D parameter).
    """
    backends = torch.backends
    return {
        **_loader(applied.loader),
        **_layout(applied),
        **_kernel(applied),
        "amp": _amp(applied),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_allow_tf32": backends.cudnn.allow_tf32,
        "cudnn_benchmark": backends.cudnn.benchmark,
        "cudnn_benchmark_limit": backends.cudnn.benchmark_limit,
        "cudnn_deterministic": backends.cudnn.deterministic,
        "intraop_threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "sdpa_backend": _attention(),
    }


def disagreements(applied: Applied) -> list[str]:
    """Where torch tells another value than the settings, and no note says why. Empty is right."""
    found = in_force(applied)
    told = {note["setting"] for note in applied.notes}
    wanted = applied.settings.to_dict()
    return [
        f"{name} should be {value!r}, torch says {found[name]!r}"
        for name, value in wanted.items()
        if name in found and value not in (None, "default", found[name]) and name not in told
    ]


def batch_layouts(applied: Applied, batch: Any) -> list[tuple[tuple[int, ...], str]]:
    """(shape, memory format) of each tensor in a flat batch, as the loss would see it."""
    moved = to_device(batch, applied.device, applied.settings)
    values = moved.values() if isinstance(moved, dict) else moved
    return [(tuple(t.shape), layout_of(t)) for t in values if isinstance(t, torch.Tensor)]


def _loader(loader: Any) -> dict[str, Any]:
    if not isinstance(loader, DataLoader):
        return {}
    context = loader.multiprocessing_context
    if isinstance(context, multiprocessing.context.BaseContext):
        context = context.get_start_method()
    found = {
        "num_workers": loader.num_workers,
        "prefetch_factor": loader.prefetch_factor,
        "persistent_workers": loader.persistent_workers,
        "pin_memory": loader.pin_memory,
        "multiprocessing_context": context or "default",
    }
    if hasattr(loader, "in_order"):
        found["in_order"] = loader.in_order
    return found


def _layout(applied: Applied) -> dict[str, Any]:
    formats = {layout_of(p) for p in applied.model.parameters() if has_image_rank(p)}
    formats.discard("either")
    return {"memory_format": formats.pop()} if len(formats) == 1 else {}


def _kernel(applied: Applied) -> dict[str, Any]:
    kinds = {(g.get("foreach"), g.get("fused")) for g in applied.optimizer.param_groups}
    if len(kinds) != 1:
        return {}
    foreach, fused = kinds.pop()
    name = "fused" if fused else "foreach" if foreach else "for_loop" if foreach is False else ""
    return {"optimizer_kernel": name or "default"}


def _amp(applied: Applied) -> str:
    names = {dtype: name for name, dtype in DTYPES.items()}
    kind = applied.device.type
    with autocast(applied.settings, applied.device):
        on = torch.is_autocast_enabled(kind)
        return names[torch.get_autocast_dtype(kind)] if on else "none"


def _attention() -> str:
    names = [name for name, value in attention().items() if value]
    return names[0] if len(names) == 1 else "default"
