"""What it costs a script to run under hotlap with nothing imposed: 1 % or less.

    python -m benchmarks.script_overhead
    python -m benchmarks.script_overhead --rounds 4 --kinds small

The script (benchmarks/overhead_script.py) times its own steps, a block of them for each line of its
input. Five processes of it live at once and take turns, block by block, in a new random order each
turn; whoever has no turn waits for a line. So the same steps of all five lie within a second of
each other, and what the machine does meanwhile falls out of their ratios:

    plain    Python alone
    hotlap   `hotlap run` with a settings file that changes nothing: the claim is about this one
    imposed  the same with a file that imposes what the script does anyway, so that its loader,
             model and optimizer are watched and nothing is faster or slower for it
    trial    a trial's process: each batch, call and step is heard, and blocks are timed
    control  plain once more: what it shows is noise

A round is five fresh processes, and its answer for each is the median over the turns. The interval
is Student's over the rounds: processes differ from each other, which no number of turns shows.
With one OpenMP thread: a waiting thread that spins would take the others' core.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, TemporaryFile

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
from hotlap.job import Job, Window  # noqa: E402
from hotlap.measurement import Rate  # noqa: E402
from hotlap.settings import Settings  # noqa: E402
from studies.arm import log_interval  # noqa: E402

SCRIPT = ROOT / "benchmarks" / "overhead_script.py"
STEPS = {"small": 100, "images": 4}
"""Kind of script -> the steps of a block: one or some tenths of a second of them."""

ARMS = ("plain", "hotlap", "imposed", "trial", "control")
N_WARM = 3
"""First turns that do not count: torch and hotlap find out what the script is."""

CLAIM = 0.01

AS_IT_IS = ("num_workers", "pin_memory", "memory_format", "amp", "compile_mode", "optimizer_kernel")
"""Settings that the script has at PyTorch's default, for a file that imposes these defaults."""

WINDOW = Window(max_s=1e9, min_s=1e9, block_s=0.5 * len(ARMS), precision=0.0, patience_s=8.0)
"""Of a trial that ends with its input; of its blocks' time the other processes have most."""

TRIAL = (
    "import pathlib, sys; from hotlap.script import worker; worker.main(pathlib.Path(sys.argv[1]))"
)

Turn = dict[str, tuple[float, float]]
"""Arm -> wall and CPU seconds of its block; or how many times those of the plain one they are."""


def write_files(folder: Path) -> None:
    """Write the two settings files."""
    frozen.dump(folder / "hotlap.yaml", Settings(), {})
    frozen.dump(folder / "imposed.yaml", Settings(), {"tuned": list(AS_IT_IS)})


def words(kind: str, arm: str, folder: Path) -> list[str]:
    """The command of one arm, whose files are in `folder`."""
    target, args = str(SCRIPT), [kind, str(STEPS[kind])]
    if arm == "trial":
        script = {"target": target, "is_module": False, "args": args, "cwd": str(ROOT), "own": {}}
        Job("", window=WINDOW, script=script).write(folder)
        return [sys.executable, "-c", TRIAL, str(folder)]
    settings = ["-m", "hotlap", "run", "--settings", str(folder / f"{arm}.yaml")]
    return [sys.executable, *(settings if arm in ("hotlap", "imposed") else ()), target, *args]


class Running:
    """A process of the script, which waits for its turns.

    Args:
        kind: Of the script.
        arm: How it is started.
        folder: With what `write_files` has written.
    """

    def __init__(self, kind: str, arm: str, folder: Path) -> None:
        self._name = f"{kind}, {arm}"
        self._said = TemporaryFile("w+")
        self._process = subprocess.Popen(
            words(kind, arm, folder),
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,  # not the screen: under hotlap it says that it imposes nothing
            bufsize=0,
        )

    def turn(self) -> tuple[float, float]:
        """Wall and CPU seconds of its next block.

        Raises:
            Unmeasured: It has ended; with what it said.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"\n")
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self._said.seek(0)
            raise Unmeasured(f"{self._said.read()}\n{self._name} ended with code {code}".lstrip())
        wall_s, cpu_s = line.split()
        return float(wall_s), float(cpu_s)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        with self._process, self._said:  # waits for it
            pass


def one_round(kind: str, n_turns: int, folder: Path, chance: random.Random) -> Turn:
    """What each arm takes in fresh processes; see `cost`.

    Raises:
        Unmeasured: One of them has failed.
    """
    with contextlib.ExitStack() as stack:
        arms = {
            arm: stack.enter_context(contextlib.closing(Running(kind, arm, folder))) for arm in ARMS
        }
        turns = [
            {arm: arms[arm].turn() for arm in chance.sample(ARMS, len(ARMS))}
            for _ in range(N_WARM + n_turns)
        ]
    return cost(turns[N_WARM:])


def cost(turns: Sequence[Turn]) -> Turn:
    """By the clock and by CPU time: how many times longer than plain, the median of all turns."""

    def times(arm: str, index: int) -> float:
        return median(turn[arm][index] / turn["plain"][index] for turn in turns)

    return {arm: (times(arm, 0), times(arm, 1)) for arm in turns[0] if arm != "plain"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; 1 if a cost above 1 % is proven, by CPU time or the clock."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--kinds", nargs="+", choices=STEPS, default=list(STEPS))
    arguments.add_argument("--rounds", type=count, default=8, help="of each kind (%(default)s)")
    arguments.add_argument("--turns", type=count, default=20, help="of a round (%(default)s)")
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args(argv)
    chance = random.Random(given.seed)
    print(f"{versions()}\n{uptime()}")
    heads = [f"{arm}/plain" for arm in ARMS[1:]]
    print(_line("script", "", heads), flush=True)
    held, broken, failed = [], [], []
    with TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder)
        for kind in given.kinds:
            rounds: list[Turn] = []
            for number in range(given.rounds):
                try:
                    rounds.append(one_round(kind, given.turns, folder, chance))
                except Unmeasured as error:
                    failed.append(f"round {number + 1} of {kind}")
                    print(error, flush=True)
            for index, clock in enumerate(("by clock", "by CPU")) if rounds else ():
                found = {a: log_interval([one[a][index] for one in rounds]) for a in ARMS[1:]}
                print(_line(kind, clock, [_text(rate) for rate in found.values()]), flush=True)
                if found["hotlap"].high <= 1 + CLAIM:
                    held.append(f"{kind} {clock}")
                if found["hotlap"].low > 1 + CLAIM:
                    broken.append(f"{kind} {clock}")
    print(f"{uptime()}\nproven to be {CLAIM:.0%} or less: {', '.join(held) or 'none'}")
    return conclude(f"claim: {CLAIM:.0%} or less; proven to be more", broken, failed)


def _line(kind: str, clock: str, cells: Sequence[str]) -> str:
    return f"{kind:8} {clock:8} {''.join(f'{cell:25}' for cell in cells)}".rstrip()


def _text(rate: Rate) -> str:
    return f"{rate.value:.4f} [{rate.low:.4f}, {rate.high:.4f}]"


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
