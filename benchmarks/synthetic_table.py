"""A table of a machine that exists in numbers only, for trying what works on tables.

    python -m benchmarks.synthetic_table synthetic.jsonl

It is marked as synthetic in its first line; no claim about hotlap's speed rests on it.

Samples wait: a loader with w workers delivers up to `w / sample_s`, a model takes up to 400
samples/s, and workers take cores from it. The layout helps, threads help or harm, a compiled model
costs 10 s more before its first step, and half precision is hopeless here. 2 % noise between
processes, 3 % between blocks, of which half lasts from one block to the next.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hotlap.settings import Settings  # noqa: E402
from runners.table_check import FORMAT  # noqa: E402

SPACE: dict[str, dict[str, Any]] = {
    "num_workers": {"choices": [0, 1, 2, 4, 8]},
    "prefetch_factor": {"choices": [2, 4], "when": {"knob": "num_workers", "above": 0}},
    "memory_format": {"choices": ["contiguous", "channels_last"], "numerics": "rounding"},
    "intraop_threads": {"choices": [None, 1], "numerics": "rounding"},
    "amp": {"choices": ["none", "bf16"], "numerics": "precision"},
    "compile_mode": {"choices": ["none", "default"], "numerics": "rounding"},
}
"""(1 + 4 x 2) x 2 x 2 x 2 x 2 = 144 settings."""

BATCH = 32
BLOCK_S = 0.5
N_BLOCKS = 40
PROCESS_NOISE, BLOCK_NOISE, LASTING = 0.02, 0.03, 0.5


def true_rate(settings: Settings) -> float:
    """Samples per second by construction."""
    workers = settings.num_workers
    loader = 60.0 if workers == 0 else 110.0 * workers * (1.05 if workers > 1 else 1.0)
    compute = compute_rate(settings)
    if workers == 0:
        return 1 / (1 / loader + 1 / compute)
    return (loader**-6 + compute**-6) ** (-1 / 6)  # the slower side, with a soft corner


def compute_rate(settings: Settings) -> float:
    """Samples per second that the model would take if it never waited."""
    workers = settings.num_workers
    compute = 400.0 - 12.0 * workers
    compute *= 1.15 if settings.memory_format == "channels_last" else 1.0
    compute *= 0.9 if settings.intraop_threads == 1 and workers < 4 else 1.0
    compute *= 1.08 if settings.intraop_threads == 1 and workers >= 4 else 1.0
    compute *= 0.07 if settings.amp == "bf16" else 1.0
    return compute * (1.1 if settings.compile_mode == "default" else 1.0)


def lines(
    seed: int = 0, n_repeats: int = 2, knobs: Sequence[str] = tuple(SPACE)
) -> Iterator[dict[str, Any]]:
    """The table's lines; settings with 8 workers and long queues run out of memory.

    Args:
        seed: Of the noise.
        n_repeats: Processes for each settings value.
        knobs: Those of `SPACE` that are searched.
    """
    yield {
        "table": FORMAT,
        "synthetic": True,
        "workload": {"name": "synthetic"},
        "settings": Settings().to_dict(),
        "space": {name: SPACE[name] for name in knobs},
        "facts": {"cores": 8, "default_intraop_threads": 8},
        "setup_s": 4.0,
    }
    chance = random.Random(seed)
    for settings in every_settings(knobs):
        for _ in range(n_repeats):
            yield _row(settings, chance)


def every_settings(knobs: Sequence[str] = tuple(SPACE)) -> Iterator[Settings]:
    """The whole space, each settings value once."""
    seen = set()
    for values in itertools.product(*(SPACE[name]["choices"] for name in knobs)):
        settings = Settings(**dict(zip(knobs, values, strict=True)))
        if settings.key() not in seen:
            seen.add(settings.key())
            yield settings


def _row(settings: Settings, chance: random.Random) -> dict[str, Any]:
    rate = true_rate(settings) * (1 + chance.gauss(0, PROCESS_NOISE))
    compile_s = 10.0 if settings.compile_mode == "default" else 0.5
    common = {
        "settings": settings.to_dict(),
        "startup_s": 1.5,
        "num_workers": settings.num_workers,
        "overhead_s": 0.2 + 0.05 * settings.num_workers,
    }
    if settings.num_workers == 8 and settings.prefetch_factor == 4:
        reason = "DataLoader worker is killed by signal: Killed"
        return {**common, "outcome": "oom", "reason": reason, "wall_s": 6.0}
    waits = 1 - true_rate(settings) / compute_rate(settings)
    first = {"steps": 1, "samples": BATCH, "seconds": compile_s + BATCH / rate}
    warmup = [_block(share * rate, 0.0, waits) for share in (0.8, 0.97, 1.0)]
    noise, blocks = 0.0, []
    for _ in range(N_BLOCKS):
        noise = LASTING * noise + chance.gauss(0, BLOCK_NOISE * (1 - LASTING**2) ** 0.5)
        blocks.append(_block(rate, noise, waits))
    return {
        **common,
        "outcome": "ok",
        "compile_s": compile_s,
        "peak_host_bytes": (1 + settings.num_workers) << 29,
        "end_s": 0.1,
        "warmup_blocks": [first, *warmup],
        "blocks": blocks,
    }


def _block(rate: float, noise: float, waits: float) -> dict[str, Any]:
    steps = max(1, round(BLOCK_S * rate / BATCH))
    seconds = steps * BATCH / rate * (1 + noise)
    return {
        "steps": steps,
        "samples": steps * BATCH,
        "seconds": seconds,
        "data_wait_s": waits * seconds,
    }


def write(path: Path, seed: int = 0, knobs: Sequence[str] = tuple(SPACE)) -> Path:
    """Write the table to `path`."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines(seed, knobs=knobs)))
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.synthetic_table",
        description=(__doc__ or "").partition("\n\n")[0],
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(write(asked.path, asked.seed))
