"""The harness costs nothing: hotlap's window against a hand-written plain loop.

    python -m benchmarks.harness_overhead
    python -m benchmarks.harness_overhead --workloads digits_mlp --rounds 10

Both arms stand in one process and take turns, block by block: the plain loop runs between two
blocks of hotlap's own window timer, over as many steps, with the same model, data and settings. A
second plain block after it is the control: what plain/plain shows is the machine's noise. Each
round is a fresh process for each workload, in shuffled order. A process's answer is the median of
its blocks' ratios; the interval is Student's over the processes.

The harness's time is taken from outside, and has in it all that a window does: reading /proc,
writing events, counting, looking at the loader's queue.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.commands import ended_well  # noqa: E402
from benchmarks.machine import (  # noqa: E402
    ROOT,
    Unmeasured,
    conclude,
    count,
    interruptible,
    uptime,
    versions,
)
from hotlap.measurement import Rate  # noqa: E402
from studies.arm import log_interval  # noqa: E402

CLAIM = 0.99

WORKLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "digits_mlp": ("hotlap.zoo.mlp.digits_mlp", {}),
    "gpt_small": (
        "hotlap.zoo.gpt.gpt_small",
        {"batch_size": 4, "context": 64, "n_layers": 2, "n_heads": 2, "width": 128},
    ),
    "gpt2_short": (
        "hotlap.zoo.gpt.gpt_small",
        {"batch_size": 4, "context": 512, "n_layers": 12, "n_heads": 12, "width": 768},
    ),
    "resnet18_resident": (
        "hotlap.zoo.vision.resnet18",
        {
            "batch_size": 8,
            "image_size": 64,
            "n_classes": 16,
            "data": {"dataset": "hotlap.zoo.resident.resident"},
        },
    ),
    "resnet18_jpegs": ("hotlap.zoo.vision.resnet18", {"batch_size": 8, "image_size": 64}),
}
"""Name -> dotted path and arguments. digits_mlp is the hard case: its step takes half a
millisecond, so every microsecond of Python shows."""

DEFAULT = ("digits_mlp", "gpt_small", "resnet18_resident")


def main(argv: list[str]) -> int:
    """Run the rounds and print the table; 0 if no workload is proven to be below the claim."""
    args = arguments(argv)
    if args.process:
        from benchmarks.turns import one_process  # torch, which only this process needs

        print(
            json.dumps(one_process(*WORKLOADS[args.process], args.seconds, args.block, args.device))
        )
        return 0
    print(f"before: {uptime()}\n{versions()}, OMP_NUM_THREADS={args.threads}, passive wait")
    order = random.Random(args.seed)
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in args.workloads}
    failed = []
    for number in range(args.rounds):
        for name in order.sample(args.workloads, len(args.workloads)):
            try:
                answer = fresh_process(name, args)
            except Unmeasured as error:
                failed.append(f"round {number + 1} of {name}")
                print(f"round {number + 1}: {error}", flush=True)
                continue
            answers[name].append(answer)
            print(f"round {number + 1}: {line(name, answer)}", flush=True)
    answers = {name: found for name, found in answers.items() if found}
    print(f"\n{table(answers)}")
    below = [name for name, found in answers.items() if interval(found, "ratio").high < CLAIM]
    code = conclude(f"claim: {CLAIM} or more; proven to be below", below, failed)
    print(f"after:  {uptime()}")
    return code


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.harness_overhead",
        description=(__doc__ or "").partition("\n\n")[0],
    )
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(DEFAULT))
    parser.add_argument("--rounds", type=count, default=5, help="fresh processes per workload")
    parser.add_argument("--seconds", type=float, default=6.0, help="of the harness, each process")
    parser.add_argument("--block", type=float, default=0.5, help="seconds of a block")
    parser.add_argument("--threads", type=int, default=1, help="OMP_NUM_THREADS")
    parser.add_argument("--device", default=None, help="cpu or cuda; cuda where there is one")
    parser.add_argument("--seed", type=int, default=0, help="of the order within rounds")
    parser.add_argument("--process", choices=WORKLOADS, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def fresh_process(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Run one workload's blocks in a process of its own.

    Waiting OpenMP threads do not spin there: on a busy machine the spinning alone would decide.

    Raises:
        Unmeasured: It failed; why is on the screen.
    """
    options = {"--process": name, "--seconds": args.seconds, "--block": args.block}
    if args.device:
        options["--device"] = args.device
    words = [str(word) for pair in options.items() for word in pair]
    env = {
        **os.environ,
        "OMP_NUM_THREADS": str(args.threads),
        "OMP_WAIT_POLICY": "PASSIVE",
        "GOMP_SPINCOUNT": "0",
    }
    command = [sys.executable, "-m", "benchmarks.harness_overhead", *words]
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(ended_well(done, name).splitlines()[-1])
    return answer


def table(answers: dict[str, list[dict[str, Any]]]) -> str:
    """A line for each workload: the ratios with their 95 % intervals over the processes."""
    keys = ("ratio", "control", "cpu_ratio", "cpu_control")
    heads = ("harness/plain", "plain/plain", "harness/plain by CPU", "plain/plain by CPU")
    rows = ["".join([f"{'workload':19}", *(f"{head:25}" for head in heads)]).rstrip()]
    for name, found in answers.items():
        cells = []
        for rate in (interval(found, key) for key in keys):
            cells.append(f"{f'{rate.value:.4f} [{rate.low:.4f}, {rate.high:.4f}]':25}")
        rows.append("".join([f"{name:19}", *cells]).rstrip())
    return "\n".join(rows)


def interval(answers: list[dict[str, Any]], key: str) -> Rate:
    """Geometric mean over the processes with Student's 95 % interval."""
    return log_interval([answer[key] for answer in answers])


def line(name: str, answer: dict[str, Any]) -> str:
    """One process's answer in words."""
    return (
        f"{name:18} harness/plain {answer['ratio']:.4f}, plain/plain {answer['control']:.4f}, "
        f"by CPU time {answer['cpu_ratio']:.4f} and {answer['cpu_control']:.4f}, "
        f"{answer['n_blocks']} blocks, {answer['plain_samples_per_s']:,.0f} samples/s"
    )


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
