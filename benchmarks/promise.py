"""The promise holds: a full run with the frozen file is as fast as the file says, within 5 %.

    python -m benchmarks.promise
    python -m benchmarks.promise --models resnet18 --frozen outputs/resnet18/<time>/frozen.yaml
    python -m benchmarks.promise --budget 30m --folder promise

For each workload, as a user does it: tune.py with a budget (unless the frozen file is given), then
train.py with the file it froze, on the same data, several times (`--runs`). Side by side: the rate
that the file promises, with its 95 % interval, and the rate of the full runs, their geometric mean
with an interval of its own. Two processes that do the same differ, on some machines by 10 %: then
one full run alone tells nothing of a promise that is made for the mean of many.

What is compared. The promise is the rate of steady training with the epochs' starts spread over
their steps; start-up and compilation are left out. The full run's figure is the same: the samples
of its whole epochs divided by their seconds, each from before its loader is started until the
device has done its last step, and the first epoch left out, since start-up, compilation and a
queue that filled meanwhile are in it. `train.py says` is the rate that train.py itself prints: all
that came after the run's very first step. So it lacks the start of the first epoch and has the
batches that were fetched while the first step compiled; over a few epochs both weigh little.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.commands import SIZES, kept_or_not, script, words_of  # noqa: E402
from benchmarks.machine import (  # noqa: E402
    Unmeasured,
    columns,
    conclude,
    count,
    interruptible,
    uptime,
    versions,
)
from hotlap.errors import HotlapError  # noqa: E402
from hotlap.frozen import load_frozen  # noqa: E402
from hotlap.job import EventReader  # noqa: E402
from hotlap.measurement import Rate  # noqa: E402
from studies.arm import log_interval  # noqa: E402

CLAIM = 0.05
"""The full run is within this share of the promise."""


@dataclass(frozen=True)
class Promise:
    """What a frozen file says, in samples per second."""

    samples_per_s: float
    low: float
    high: float


@dataclass(frozen=True)
class FullRun:
    """What one full run reached, in samples per second.

    Attributes:
        epochs: Of each whole epoch after the first, its start included.
        whole: Of all of them together.
        said: What train.py printed.
    """

    epochs: tuple[float, ...]
    whole: float
    said: float


@dataclass(frozen=True)
class Row:
    """One workload: what was promised, and its full runs."""

    model: str
    promise: Promise
    runs: tuple[FullRun, ...]

    @property
    def rate(self) -> Rate:
        """The full runs' rate: their geometric mean, and its interval if there are several."""
        return log_interval([run.whole for run in self.runs])

    @property
    def said(self) -> float:
        """The geometric mean of what train.py printed."""
        return log_interval([run.said for run in self.runs]).value

    @property
    def ratio(self) -> float:
        """The full runs' rate as a share of the promised one."""
        return self.rate.value / self.promise.samples_per_s

    @property
    def kept(self) -> bool:
        """Whether the full runs are within the claim."""
        return abs(self.ratio - 1) <= CLAIM


def main(argv: list[str]) -> int:
    """Run all workloads and print the table; 0 if every promise was kept, 1 if one was not."""
    args = arguments(argv)
    print(f"before: {uptime()}\n{versions()}", flush=True)
    rows, failed = [], []
    with kept_or_not(args.folder) as folder:
        for i, model in enumerate(args.models):
            words = words_of(model, SIZES, args)
            path = Path(args.frozen[i]).absolute() if args.frozen else None
            try:
                path = path or study(folder, model, words, args)
                promised = promise(path)
                runs = tuple(full_run(folder, model, path, words, args) for _ in range(args.runs))
            except (Unmeasured, HotlapError) as error:
                print(f"{error}\n{model} is left out", flush=True)
                failed.append(model)
                continue
            rows.append(Row(model, promised, runs))
            print(f"{model}: {path}\n{table(rows[-1:])}", flush=True)
    if len(rows) > 1:
        print(f"\n{table(rows)}")
    broken = [row.model for row in rows if not row.kept]
    code = conclude(f"claim: within {CLAIM:.0%} of the promise; not so", broken, failed)
    print(f"after:  {uptime()}")
    return code


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.promise", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--models", nargs="+", default=list(SIZES), help="the workloads")
    parser.add_argument("--frozen", nargs="+", help="a frozen file for each; no study is run")
    parser.add_argument("--budget", default="10m", help="of each study")
    parser.add_argument("--epochs", type=count, default=3, help="that count; one more is trained")
    parser.add_argument("--runs", type=count, default=3, help="full runs, each in a fresh process")
    parser.add_argument("--folder", type=Path, help="keep studies and runs here; none: nowhere")
    parser.add_argument("--no-sizes", action="store_true", help="the models' own data as it is")
    parser.add_argument("--verbose", action="store_true", help="show what the scripts print")
    parser.add_argument("more", nargs="*", help="further words for both scripts, after --")
    args = parser.parse_args(argv)
    if args.frozen and len(args.frozen) != len(args.models):
        parser.error(f"{len(args.models)} models and {len(args.frozen)} frozen files; one for each")
    return args


def study(folder: Path, model: str, words: Sequence[str], args: argparse.Namespace) -> Path:
    """Run tune.py in `folder`; returns the frozen file."""
    frozen = folder / f"{model}.yaml"
    mine = (f"budget={args.budget}", f"freeze={frozen}", "bank=none")
    said = script("tune.py", folder, [f"+model={model}", *mine, *words], args.verbose)
    (folder / f"{model}.txt").write_text(said, encoding="utf-8")
    return frozen


def full_run(
    folder: Path, model: str, frozen: Path, words: Sequence[str], args: argparse.Namespace
) -> FullRun:
    """Run train.py with the frozen file in `folder`; returns what it reached."""
    before = set(folder.glob(f"outputs/{model}/full-*"))
    # A checkpoint in the midst of an epoch would be in the epoch's seconds.
    mine = (f"settings={frozen}", f"epochs={args.epochs + 1}", "checkpoint_every_s=1000000")
    script("train.py", folder, [f"+model={model}", *mine, *words], args.verbose)
    (new,) = set(folder.glob(f"outputs/{model}/full-*")) - before
    return figures(EventReader(new).new())


def promise(frozen: Path) -> Promise:
    """What the frozen file says.

    Raises:
        Unmeasured: It has no rate, or one without an interval.
        UserInputError: It cannot be read.
    """
    said = load_frozen(frozen).provenance
    if not said.get("samples_per_s"):
        raise Unmeasured(f"{frozen} promises no rate; give a file that tune.py has frozen")
    if not said.get("samples_per_s_ci95"):
        raise Unmeasured(
            f"the rate in {frozen} comes from too few runs to have an interval, so it promises "
            "little; tune with a longer budget"
        )
    low, high = said["samples_per_s_ci95"]
    return Promise(said["samples_per_s"], low, high)


def figures(events: Sequence[dict[str, Any]]) -> FullRun:
    """What a full run's events say; see hotlap/full_run.py for them."""
    seconds = [event["seconds"] for event in events if event["event"] == "epoch"]
    trained = events[-1]
    # train.py counts the samples from the second step on.
    samples = trained["samples"] * trained["steps"] / (trained["steps"] - 1)
    each = samples / len(seconds)
    later = seconds[1:]
    return FullRun(
        epochs=tuple(each / s for s in later),
        whole=each * len(later) / sum(later),
        said=trained["samples_per_s"],
    )


def table(rows: Sequence[Row]) -> str:
    """One line a workload, rates in samples per second."""
    head = (
        "workload",
        "promised",
        "full runs",
        "ratio",
        "kept",
        "train.py says",
        "ratio",
        "epochs",
    )
    lines = [head]
    for row in rows:
        said = row.promise
        lines.append(
            (
                row.model,
                with_interval(Rate(said.samples_per_s, said.low, said.high)),
                with_interval(row.rate),
                f"{row.ratio:.3f}",
                "yes" if row.kept else "no",
                written(row.said),
                f"{row.said / said.samples_per_s:.3f}",
                " | ".join(" ".join(map(written, run.epochs)) for run in row.runs),
            )
        )
    return columns(lines)


def with_interval(rate: Rate) -> str:
    """A rate and its interval, where it has one."""
    if not math.isfinite(rate.high):
        return written(rate.value)
    return f"{written(rate.value)} [{written(rate.low)}, {written(rate.high)}]"


def written(rate: float) -> str:
    """A rate with four digits and never scientific; an end that is not known is a dash."""
    if not math.isfinite(rate):
        return "-"
    return f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}"


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
