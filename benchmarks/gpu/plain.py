"""The plain loop alone, by the clock on the wall: what a trial's rate has to agree with.

Run as a process of its own, since the one that runs the trials stays without torch:

    python -m benchmarks.gpu.plain gpt2_short cuda 4
"""

from __future__ import annotations

import json
import sys

from benchmarks.harness_overhead import WORKLOADS
from benchmarks.turns import Plain, batches
from hotlap.apply import apply, apply_process
from hotlap.settings import Settings
from hotlap.worker import build

N_FIRST = 5
"""Steps in which kernels are loaded and memory is taken."""

MIN_STEPS = 200


def main(argv: list[str]) -> int:
    """Print the steps and what they took, between two waits for the device and none within."""
    name, device, seconds = argv
    settings = Settings()
    apply_process(settings)
    dotted, args = WORKLOADS[name]
    workload = build(dotted, {**args, "device": device})
    applied = apply(workload, settings)
    loop = Plain(workload, batches(workload, applied))
    loop.run(N_FIRST)
    step_s = loop.run(MIN_STEPS // 4).wall_s / (MIN_STEPS // 4)  # and the clocks go up
    n_steps = max(MIN_STEPS, round(float(seconds) / step_s))
    print(json.dumps({"n_steps": n_steps, "seconds": loop.run(n_steps).wall_s}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
