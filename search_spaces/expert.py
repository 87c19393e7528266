"""Expert: what an experienced engineer would set by hand on this machine, with the reasons.

It is the yardstick beside PyTorch's defaults: who beats only the defaults has found what is in
the manual. The rules are those of PyTorch's Performance Tuning Guide (called the guide below) and
of the notes and references of PyTorch; each reason names its source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hotlap.settings import Settings
from search_spaces.auto import LEAST_PREFETCH, SHM_SHARE, shm_need_bytes, workers_rule
from search_spaces.hardware import words
from search_spaces.knob import NUMERICS

MOST_WORKERS = 8
"""By hand one seldom goes beyond; each is a process with a copy of what the dataset holds."""

CHEAP_BATCH_S = 0.002
"""Loading a batch in less costs no more than handing it from one process to another."""

Advice = tuple[str, dict[str, Any], str]
"""What it changes (a word of NUMERICS), the values, and the reason with its source."""


def expert(
    base: Settings, facts: Mapping[str, Any], numerics: str = "precision"
) -> tuple[Settings, list[str]]:
    """The expert's settings over `base`, and a sentence for each decision.

    Args:
        base: The values of all that the expert leaves alone.
        facts: Machine facts and the probe's workload facts, in one mapping.
        numerics: The most that may change: exact, rounding or precision.
    """
    here = words(facts, facts)
    values: dict[str, Any] = {}
    reasons = []
    for rule in _RULES:
        for changes, advice, reason in rule(here, facts):
            if NUMERICS.index(changes) <= NUMERICS.index(numerics):
                values.update(advice)
                reasons.append(reason)
    return replace(base, **values), reasons


def _loading(here: set[str], facts: Mapping[str, Any]) -> list[Advice]:
    if "loader" not in here:
        return []
    advice: list[Advice] = []
    workers = None if facts.get("cores") is None else _workers(here, facts)
    if workers:
        text = f"num_workers={workers}, so that loading runs beside training "
        source = "(guide: enable asynchronous data loading)"
        advice.append(("exact", {"num_workers": workers}, text + source))
        if facts.get("n_epoch_steps") and "steady_dataset" in here:
            text = "workers stay alive, so that no epoch starts them anew (torch.utils.data docs)"
            advice.append(("exact", {"persistent_workers": True}, text))
    elif workers is not None:
        text = "no loader workers: a batch takes less time than handing it to another process "
        advice.append(("exact", {"num_workers": 0}, text + "(torch.utils.data docs)"))
    if "cuda" in here:
        text = "pinned memory and copies that do not wait (guide: pin_memory; CUDA semantics notes)"
        advice.append(("exact", {"pin_memory": True, "non_blocking": True}, text))
    return advice


def _workers(here: set[str], facts: Mapping[str, Any]) -> int:
    """Loader workers by hand: as many as the rule and the cores give, where loading costs time."""
    samples = int(facts.get("batch_size") or 1)
    wall_s = facts.get("sample_wall_s")
    if wall_s is not None and samples * float(wall_s) < CHEAP_BATCH_S:
        return 0
    wanted, cores = workers_rule(facts), int(facts["cores"])
    if "cpu" in here and wanted <= cores:
        wanted = max(1, cores // 2)  # they compute beside the training, on the same cores
    wanted = min(wanted, MOST_WORKERS)
    if "shared_dataset" not in here:
        wanted = 1  # every further worker would repeat the stream (pytorch#30599)
    free = facts.get("shm_free_bytes")
    need = shm_need_bytes(1, LEAST_PREFETCH, facts)
    return min(wanted, int(SHM_SHARE * free // need)) if free is not None and need else wanted


def _layout(here: set[str], facts: Mapping[str, Any]) -> list[Advice]:
    if "conv2d" not in here:
        return []
    text = "channels_last, the layout of the fast convolution kernels (guide: channels_last)"
    return [("rounding", {"memory_format": "channels_last"}, text)]


def _precision(here: set[str], facts: Mapping[str, Any]) -> list[Advice]:
    advice: list[Advice] = []
    if "bf16" in here:
        text = "bfloat16 by autocast: in hardware here, and needs no loss scaling (AMP docs)"
        advice.append(("precision", {"amp": "bf16"}, text))
    elif {"cuda", "fp16"} <= here:
        text = "float16 by autocast with loss scaling: no bfloat16 in hardware here (AMP docs)"
        advice.append(("precision", {"amp": "fp16"}, text))
    if "tf32" in here:
        text = "TF32 for what stays in float32 (CUDA semantics notes: TensorFloat-32)"
        advice.append(("precision", {"float32_matmul_precision": "high"}, text))
    return advice


def _cudnn(here: set[str], facts: Mapping[str, Any]) -> list[Advice]:
    if "cudnn" not in here or facts.get("shapes_vary"):
        return []
    text = "cuDNN measures its algorithms once, as shapes stay the same (guide: cuDNN auto-tuner)"
    return [("rounding", {"cudnn_benchmark": True}, text)]


def _optimizer(here: set[str], facts: Mapping[str, Any]) -> list[Advice]:
    if "fused_optimizer" not in here:
        return []
    text = "the fused optimizer kernel, in general the fastest of the three (torch.optim docs)"
    return [("rounding", {"optimizer_kernel": "fused"}, text)]


def _threads(here: set[str], facts: Mapping[str, Any]) -> list[Advice]:
    own, cores = facts.get("default_intraop_threads"), facts.get("cores")
    if own is None or cores is None or own <= cores:
        return []
    text = f"{cores} threads: PyTorch's own {own} exceed what this container may use "
    return [("rounding", {"intraop_threads": cores}, text + "(CPU threading notes)")]


def _allocator(here: set[str], facts: Mapping[str, Any]) -> list[Advice]:
    found = [name for name in ("jemalloc", "tcmalloc") if name in here]
    if "cpu" not in here or not found:
        return []
    text = f"{found[0]} instead of the C library's allocator (guide: switch memory allocator)"
    return [("exact", {"allocator": found[0]}, text)]


def _compile(here: set[str], facts: Mapping[str, Any]) -> list[Advice]:
    text = (
        "no torch.compile: it costs minutes before the first step and compiles anew for new "
        "shapes, so by hand it is a project of its own (torch.compile docs); the search tries it"
    )
    return [("exact", {}, text)] if "compiler" in here else []


_RULES: tuple[Callable[[set[str], Mapping[str, Any]], list[Advice]], ...] = (
    _loading,
    _layout,
    _precision,
    _cudnn,
    _optimizer,
    _threads,
    _allocator,
    _compile,
)
