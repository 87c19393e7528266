"""The exhaustive grid: for each loop the settings that an engineer would think of, all measured.

Each value once by a short block in a fresh process, in shuffled order; the best four twice more,
since the best of many noisy figures is often a lucky one. What is best by its median is judged as
an arm of its own. Optuna searches this same grid.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.rival.start import BlockFailed, measure

GRIDS: dict[str, dict[str, list[Any]]] = {
    # The wait is hidden by workers, and the rest is a small net's own time: its threads, its bits.
    "waiting": {
        "num_workers": [0, 2, 4, 8, 16],
        "intraop_threads": [None, 1],
        "amp": ["none", "bf16"],
        "persistent_workers": [True],
    },
    # Workers and the net want the same cores: how both share them.
    "computing": {
        "num_workers": [0, 1, 2, 4],
        "intraop_threads": [None, 1],
        "amp": ["none", "bf16"],
        "persistent_workers": [True],
    },
    # The net's own time: bits, layout, fused kernels, and whether batches are made beside it.
    "convnet": {
        "amp": ["none", "bf16"],
        "memory_format": ["contiguous", "channels_last"],
        "compile_mode": ["none", "default"],
        "num_workers": [0, 1],
        "persistent_workers": [True],
    },
    # No layout here; small matrices may do better on one thread; the optimizer has many tensors.
    "transformer": {
        "amp": ["none", "bf16"],
        "compile_mode": ["none", "default"],
        "intraop_threads": [None, 1],
        "optimizer_kernel": ["default", "fused"],
    },
}
"""Loop -> knob -> its values, at most 24 settings each."""

AGAIN = 4
MORE = 2

Measure = Callable[[str, Mapping[str, Any], float], float]


def settings_of(loop: str) -> list[dict[str, Any]]:
    """Every settings value of a loop's grid; without workers, nothing is said about workers."""
    knobs = GRIDS[loop]
    found = []
    for values in itertools.product(*knobs.values()):
        one = dict(zip(knobs, values, strict=True))
        if not one.get("num_workers", 0):
            one.pop("persistent_workers", None)
        found.append(one)
    return found


def walk(loop: str, seconds: float, seed: int, rate_of: Measure = measure) -> list[dict[str, Any]]:
    """Measure all of a loop's grid: `settings`, `rates` and `failed` of each, the best first."""
    points = [{"settings": one, "rates": [], "failed": ""} for one in settings_of(loop)]
    random.Random(seed).shuffle(points)
    for point in points:
        _add(loop, point, seconds, rate_of)
    points.sort(key=rate, reverse=True)
    for _ in range(MORE):
        for point in points[:AGAIN]:
            _add(loop, point, seconds, rate_of)
    return sorted(points, key=rate, reverse=True)


def rate(point: Mapping[str, Any]) -> float:
    """Samples per second at the median; 0 for one that failed."""
    failed = bool(point["failed"]) or not point["rates"]
    return 0.0 if failed else float(statistics.median(point["rates"]))


def _add(loop: str, point: dict[str, Any], seconds: float, rate_of: Measure) -> None:
    if point["failed"]:
        return
    try:
        point["rates"].append(rate_of(loop, point["settings"], seconds))
    except BlockFailed as error:
        point["failed"] = str(error)
