"""What it costs a script to run under hotlap with nothing imposed: 1 % or less.

    python -m benchmarks.script_overhead
    python -m benchmarks.script_overhead --rounds 4 --kinds small

The script (benchmarks/overhead_script.py) times its own steps. It runs plain, under `hotlap run`
with a settings file that changes nothing, and plain once more; each in a fresh process, in a new
random order in each round. The last arm is the control: what it shows is the machine's noise. With
one OpenMP thread: threads that spin differ by ten percent from process to process, on two cores.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

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
from hotlap import frozen  # noqa: E402
from hotlap.measurement import Rate  # noqa: E402
from hotlap.settings import Settings  # noqa: E402
from studies.arm import log_interval  # noqa: E402

SCRIPT = ROOT / "benchmarks" / "overhead_script.py"
STEPS = {"small": 4000, "images": 60}
"""Kind of script -> its steps: some seconds of them."""

ARMS = ("plain", "hotlap", "control")
CLAIM = 0.01


def seconds(kind: str, arm: str, settings: Path) -> tuple[float, float]:
    """Wall and CPU seconds of the steps of one process.

    Raises:
        Unmeasured: It failed; with all that it printed.
    """
    under = ["-m", "hotlap", "run", "--settings", str(settings)] if arm == "hotlap" else []
    words = [sys.executable, *under, str(SCRIPT), kind, str(STEPS[kind])]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    # Not to the screen: under hotlap each one says that it puts nothing in force.
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
    wall_s, cpu_s = ended_well(done, f"{kind}, {arm}").split()[-2:]
    return float(wall_s), float(cpu_s)


def costs(rounds: Sequence[dict[str, tuple[float, float]]]) -> list[tuple[str, Rate, Rate]]:
    """By the clock and by CPU time: how much longer hotlap's arm took, and the control."""
    found = []
    for index, clock in enumerate(("by clock", "by CPU")):
        cost, control = (
            log_interval([one[arm][index] / one["plain"][index] for one in rounds])
            for arm in ("hotlap", "control")
        )
        found.append((clock, cost, control))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; 1 if a cost above 1 % is proven, by CPU time or the clock."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--kinds", nargs="+", choices=STEPS, default=list(STEPS))
    arguments.add_argument("--rounds", type=count, default=10, help="of each kind (%(default)s)")
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args(argv)
    chance = random.Random(given.seed)
    print(f"{versions()}\n{uptime()}")
    print(f"{'script':8} {'':8} {'hotlap/plain, time':28} control/plain", flush=True)
    broken, failed = [], []
    with TemporaryDirectory() as folder:
        settings = Path(folder) / "frozen.yaml"
        frozen.dump(settings, Settings(), {})
        for kind in given.kinds:
            rounds: list[dict[str, tuple[float, float]]] = []
            for number in range(given.rounds):
                order = chance.sample(ARMS, len(ARMS))
                try:
                    rounds.append({arm: seconds(kind, arm, settings) for arm in order})
                except Unmeasured as error:
                    failed.append(f"round {number + 1} of {kind}")
                    print(error, flush=True)
            for clock, cost, control in costs(rounds) if rounds else ():
                print(f"{kind:8} {clock:8} {_text(cost):28} {_text(control)}", flush=True)
                if cost.low > 1 + CLAIM:
                    broken.append(f"{kind} {clock}")
    print(uptime())
    return conclude(f"claim: {CLAIM:.0%} or less; proven to be more", broken, failed)


def _text(rate: Rate) -> str:
    return f"{rate.value:.4f} [{rate.low:.4f}, {rate.high:.4f}]"


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
