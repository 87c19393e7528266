"""A table of a machine that exists in numbers only, for trying what works on tables.

    python -m benchmarks.synthetic_table synthetic.jsonl --shape mixed

It is marked as synthetic in its first line; no claim about hotlap's speed rests on it.

benchmarks/synthetic_machine.py says how fast it is. 2 % noise between processes, 3 % between
blocks, of which half lasts from one block to the next.
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

from benchmarks.synthetic_machine import (  # noqa: E402
    SHAPES,
    Machine,
    compute_rate,
    true_rate,
)
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


def lines(
    seed: int = 0,
    n_repeats: int = 2,
    knobs: Sequence[str] = tuple(SPACE),
    shape: str = "mixed",
) -> Iterator[dict[str, Any]]:
    """The table's lines; settings with 8 workers and long queues run out of memory.

    Args:
        seed: Of the noise.
        n_repeats: Processes for each settings value.
        knobs: Those of `SPACE` that are searched.
        shape: One of `SHAPES`.
    """
    yield {
        "table": FORMAT,
        "synthetic": True,
        "workload": {"name": "synthetic" if shape == "mixed" else f"synthetic_{shape}"},
        "settings": Settings().to_dict(),
        "space": {name: SPACE[name] for name in knobs},
        "facts": {"cores": 8, "default_intraop_threads": 8},
        "setup_s": 4.0,
    }
    chance = random.Random(seed)
    for settings in every_settings(knobs):
        for _ in range(n_repeats):
            yield _row(settings, chance, SHAPES[shape])


def every_settings(knobs: Sequence[str] = tuple(SPACE)) -> Iterator[Settings]:
    """The whole space, each settings value once."""
    seen = set()
    for values in itertools.product(*(SPACE[name]["choices"] for name in knobs)):
        settings = Settings(**dict(zip(knobs, values, strict=True)))
        if settings.key() not in seen:
            seen.add(settings.key())
            yield settings


def _row(settings: Settings, chance: random.Random, machine: Machine) -> dict[str, Any]:
    rate = true_rate(settings, machine) * (1 + chance.gauss(0, PROCESS_NOISE))
    compile_s = machine.compile_s if settings.compile_mode == "default" else 0.5
    common = {
        "settings": settings.to_dict(),
        "startup_s": 1.5,
        "num_workers": settings.num_workers,
        "overhead_s": 0.2 + 0.05 * settings.num_workers,
    }
    if settings.num_workers == 8 and settings.prefetch_factor == 4:
        reason = "DataLoader worker is killed by signal: Killed"
        return {**common, "outcome": "oom", "reason": reason, "wall_s": 6.0}
    waits = 1 - true_rate(settings, machine) / compute_rate(settings, machine)
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


def write(
    path: Path,
    seed: int = 0,
    n_repeats: int = 2,
    knobs: Sequence[str] = tuple(SPACE),
    shape: str = "mixed",
) -> Path:
    """Write the table to `path`."""
    made = lines(seed, n_repeats, knobs, shape)
    text = "".join(json.dumps(line) + "\n" for line in made)
    path.write_text(text, encoding="utf-8")
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.synthetic_table",
        description=(__doc__ or "").partition("\n\n")[0],
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=2, help="processes for each settings value")
    parser.add_argument("--shape", choices=SHAPES, default="mixed")
    asked = parser.parse_args()
    print(write(asked.path, asked.seed, asked.repeats, shape=asked.shape))
