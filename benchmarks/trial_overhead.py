"""Between two trials the tuner costs half a second or less.

    python -m benchmarks.trial_overhead
    python -m benchmarks.trial_overhead --trials 40

Runs tune.py on a tiny workload with short windows; all else is as a user has it: TPE, SQLite,
MLflow with its SQLite store, the progress lines. Then the same study with a fresh interpreter for
each trial. Side by side: what passes between the end of one trial's window and the moment at which
the next trial begins to build its workload. So all that is outside build, warm-up and window
counts: ending the processes, telling the sampler, writing the results, proposing, starting.

A trial whose environment (OpenMP's threads and waiting, the allocator) is new to the study starts a
server for it. Such trials count like all others, and are shown apart as well.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.commands import ended_well  # noqa: E402
from benchmarks.machine import (  # noqa: E402
    ROOT,
    Unmeasured,
    count,
    interruptible,
    uptime,
    versions,
)
from hotlap.environment import variables  # noqa: E402
from hotlap.job import EventReader, Job  # noqa: E402
from hotlap.settings import Settings  # noqa: E402

CLAIM_S = 0.5

STUDY = (
    "+model=digits_mlp",
    "search_space=[dataloader,threads,optimizer]",
    "~search_space.multiprocessing_context",
    "bank=none",
    "budget=30m",
    "confirm.max_rounds=1",
    "window.max_s=0.3",
    "window.min_s=0.1",
    "window.block_s=0.05",
    "window.max_warmup_s=0.5",
)
"""A small space without compilation, and short windows: what is looked at lies between them."""


@dataclass(frozen=True)
class Gap:
    """What lies between two trials, in seconds.

    Attributes:
        number: The later trial.
        end_s: From the end of the window until the earlier trial's result is known, all of its
            processes ended.
        tell_s: From there to the next trial's order: MLflow, sampler, SQLite.
        start_s: From the order until the worker begins to build.
        new_environment: Whether the later trial is the first one with its environment.
    """

    number: int
    end_s: float
    tell_s: float
    start_s: float
    new_environment: bool

    @property
    def all_s(self) -> float:
        """The whole of it."""
        return self.end_s + self.tell_s + self.start_s


def main(argv: list[str]) -> int:
    """Run both studies and print the table; 0 if the claim holds."""
    args = arguments(argv)
    print(f"before: {uptime()}\n{versions()}, OMP_NUM_THREADS={args.threads}")
    with TemporaryDirectory() as folder:
        forked = gaps(study(Path(folder) / "forked", args, [str(ROOT / "tune.py")]))
        words = ["-m", "benchmarks.fresh_tune"]
        fresh = []
        try:
            fresh = [] if args.no_fresh else gaps(study(Path(folder) / "fresh", args, words))
        except Unmeasured as error:  # nothing is claimed of this one
            print(error)
    print(table(forked, fresh))
    found = median(gap.all_s for gap in forked)
    verdict = "holds" if found <= CLAIM_S else "does not hold"
    print(f"claim: {CLAIM_S} s or less at the median; measured {found:.3f} s, so it {verdict}")
    print(f"after:  {uptime()}")
    return 0 if found <= CLAIM_S else 1


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trial_overhead",
        description=(__doc__ or "").partition("\n\n")[0],
    )
    parser.add_argument("--trials", type=count, default=20, help="of each study's search")
    parser.add_argument("--threads", type=int, default=1, help="OMP_NUM_THREADS")
    parser.add_argument("--no-fresh", action="store_true", help="leave the second study out")
    parser.add_argument("--verbose", action="store_true", help="show what tune.py prints")
    parser.add_argument("more", nargs="*", help="further words for tune.py")
    return parser.parse_args(argv)


def study(folder: Path, args: argparse.Namespace, program: Sequence[str]) -> Path:
    """Run tune.py in `folder`; returns the study's own folder.

    Raises:
        Unmeasured: It failed.
    """
    folder.mkdir(parents=True)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(args.threads)}
    command = [sys.executable, *program, *STUDY, f"n_trials={args.trials}", *args.more]
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdout=None if args.verbose else subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    ended_well(done, "tune.py")
    return next((folder / "outputs").glob("*/*/study.db")).parent


def gaps(folder: Path) -> list[Gap]:
    """The gaps between the trials of the study in `folder`."""
    # Events carry CLOCK_MONOTONIC, the journal and the file system the time of day.
    offset = time.time() - time.monotonic()
    told = {number: time_s - offset for number, time_s in results_told(folder).items()}
    found: list[Gap] = []
    seen: set[Any] = set()
    end: float | None = None
    for trial in sorted((folder / "trials").iterdir()):
        number = int(trial.name)
        events = EventReader(trial).new()
        settings = Settings.from_dict(Job.read(trial).settings)
        environment = tuple(sorted(variables(settings, {}).items()))
        ordered = (trial / "job.json").stat().st_mtime - offset
        if end is not None and events:
            known = told[number - 1]
            found.append(
                Gap(
                    number,
                    known - end,
                    ordered - known,
                    events[0]["t"] - ordered,
                    environment not in seen,
                )
            )
        seen.add(environment)
        # `finished` comes after the peak of memory was read, which is not part of the window.
        end = max((e["t"] for e in events if e["event"] != "finished"), default=None)
    return found


def results_told(folder: Path) -> dict[int, float]:
    """Trial -> time of day in seconds at which its result was known."""
    lines = [
        json.loads(line)
        for line in (folder / "tracking.jsonl").read_text(encoding="utf-8").split("\n")
        if line
    ]
    records = [line["record"] for line in lines if line.get("kind") == "trial"]
    return {record["trial"]: record["time_ms"] / 1e3 for record in records}


def table(forked: Sequence[Gap], fresh: Sequence[Gap]) -> str:
    """Both studies side by side, in seconds."""
    rows: list[tuple[str, Callable[[Sequence[Gap]], float]]] = [
        ("all, median", lambda gaps: middle([g.all_s for g in gaps])),
        ("all, 90 % quantile", lambda gaps: quantile([g.all_s for g in gaps], 0.9)),
        ("  end of window to result", lambda gaps: middle([g.end_s for g in gaps])),
        ("  result to next order", lambda gaps: middle([g.tell_s for g in gaps])),
        ("  order to build", lambda gaps: middle([g.start_s for g in gaps])),
        ("known environment, median", lambda gaps: middle(totals(gaps, new=False))),
        ("new environment, median", lambda gaps: middle(totals(gaps, new=True))),
        ("trials", len),
        ("of them in a new environment", lambda gaps: len(totals(gaps, new=True))),
    ]
    lines = [f"{'seconds between two trials':30}{'hotlap':>10}{'fresh interpreter':>20}"]
    for name, value in rows:
        cells = [written(value(forked)), written(value(fresh)) if fresh else "-"]
        lines.append(f"{name:30}{cells[0]:>10}{cells[1]:>20}")
    return "\n".join(lines)


def totals(gaps: Sequence[Gap], new: bool) -> list[float]:
    """Whole gaps before trials whose environment is new, or is known."""
    return [gap.all_s for gap in gaps if gap.new_environment is new]


def middle(values: Sequence[float]) -> float:
    """The median; nan of nothing."""
    return median(values) if values else math.nan


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that `share` of them do not exceed; nan of nothing."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else math.nan


def written(value: float) -> str:
    """A count as it is, seconds with three digits, nothing as a dash."""
    if isinstance(value, int):
        return str(value)
    return "-" if math.isnan(value) else f"{value:.3f}"


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
