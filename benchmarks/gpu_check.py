"""On a CUDA machine: does every promise hold here that needs one? In eight minutes or less.

    python -m benchmarks.gpu_check
    python -m benchmarks.gpu_check --only 'amp*' 'out of memory'
    python -m benchmarks.gpu_check --device cpu        # what a machine without a GPU can try

Every knob takes effect, each in a worker of its own; the tuner holds no CUDA context; a trial out
of memory harms nobody; a trial's rate is that of the clock on the wall; a script comes to its end
with settings imposed on it; then two short studies.
A line for each: PASS, FAIL or SKIP with the reason. The exit code is 0 if nothing fails, 1 if
something does or all is skipped, 2 on a machine without CUDA.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.gpu import knobs, scripts, studies, trials  # noqa: E402
from benchmarks.gpu.check import Check, Verdict, failed, skipped  # noqa: E402
from benchmarks.machine import interruptible, uptime, versions  # noqa: E402
from runners.process import ProcessRunner  # noqa: E402

NO_CUDA = (
    "torch finds no CUDA device in this environment, and these checks are about one; on a machine "
    "that has one, look at `nvidia-smi` and `python -c 'import torch; print(torch.version.cuda)'`, "
    "or type --device cpu for what can be tried without"
)


PATIENCE = 3.0
"""A check is given so many times what it may take: one that hangs leaves time for the others."""


def main(argv: list[str]) -> int:
    """Run the checks; see the module for the exit codes."""
    start = time.monotonic()
    args = arguments(argv)
    if args.device.startswith("cuda") and not has_cuda():
        print(NO_CUDA)
        return 2
    print(f"before: {uptime()}\n{versions()}\n", flush=True)
    with TemporaryDirectory() as name, ProcessRunner(preload=("torch",)) as runner:
        folder = Path(name)
        found = [
            *trials.checks(runner, folder, args.device),
            *scripts.checks(folder / "script", args.device),
            *knobs.checks(knobs.ROWS, runner, folder / "knobs", args.device),
            *studies.checks(folder / "studies", args.device, args.study_budget),
            *knobs.checks(knobs.LONG, runner, folder / "knobs", args.device),
            *trials.last(runner, folder, args.device),
        ]
        chosen = [check for check in found if selected(check.name, args.only)]
        counts = run_all(chosen, start + args.deadline)
    print(f"\n{', '.join(f'{n} {status}' for status, n in sorted(counts.items()))}")
    print(f"after:  {uptime()}; {time.monotonic() - start:.0f} s in all")
    return 1 if counts["FAIL"] or not counts["PASS"] else 0


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu_check",
        description=(__doc__ or "").partition("\n\n")[0],
    )
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or cpu")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="checks, with * and ?")
    parser.add_argument("--deadline", type=float, default=470, help="seconds for all of it")
    parser.add_argument("--study-budget", type=int, default=100, help="seconds for a study")
    return parser.parse_args(argv)


def has_cuda() -> bool:
    """Whether torch finds a device; asked of another process, since this one stays without torch.

    Raises:
        CalledProcessError: torch cannot be imported; its own words are on the screen.
    """
    code = "import torch; print(torch.cuda.is_available())"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip() == "True"


def selected(name: str, patterns: Iterable[str] | None) -> bool:
    """Whether one of `patterns` names this check; all are, without patterns."""
    return patterns is None or any(fnmatch(name, pattern) for pattern in patterns)


def run_all(checks: Iterable[Check], deadline: float) -> Counter[str]:
    """Run the checks until `deadline` (CLOCK_MONOTONIC), a line each; count how they ended."""
    counts: Counter[str] = Counter()
    for check in checks:
        begin = time.monotonic()
        verdict = try_one(check, deadline - begin)
        took = time.monotonic() - begin
        print(f"{verdict.status} {check.name}: {verdict.detail} ({took:.1f} s)", flush=True)
        counts[verdict.status] += 1
    return counts


def try_one(check: Check, left_s: float) -> Verdict:
    """Run one check with `left_s` seconds left for all."""
    if left_s < check.cost_s:
        return skipped(f"out of time: it may take {check.cost_s:.0f} s, {left_s:.0f} s are left")
    try:
        return check.run(min(left_s, PATIENCE * check.cost_s))
    except Exception as error:  # noqa: BLE001  one check's fault must not hide the others
        return failed(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
