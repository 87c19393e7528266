"""A short run is planned without compilation, a long one with it, and the clock agrees.

    python -m benchmarks.run_time
    python -m benchmarks.run_time --model resnet18 --lengths 1 60 --budget 20m
    python -m benchmarks.run_time --lengths 2 900 --no-sizes -- data.n_bytes=20000

For each of two lengths, in epochs, as a user does it: tune.py with `objective=run_time
run.epochs=N`, over a space that has `compile_mode` alone. The short length then by the clock too:
train.py's whole command with the defaults and with compilation, `--runs` times each, in turns. A
long run's rate is what benchmarks/promise.py looks at. It takes a workload that compilation makes
faster: where the long study proves nothing of that, whether it would take it is not known.

Torch keeps on disk what it has compiled, and the next process finds it there. Each full run has a
folder of its own for that (TORCHINDUCTOR_CACHE_DIR), as on a new machine; studies do so anyway.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.commands import SIZES, Sizes, script, words_of  # noqa: E402
from benchmarks.machine import (  # noqa: E402
    ROOT,
    Unmeasured,
    columns,
    conclude,
    count,
    interruptible,
    uptime,
    versions,
)
from hotlap.frozen import dump, load_frozen  # noqa: E402
from hotlap.settings import Settings  # noqa: E402
from studies.arm import log_interval  # noqa: E402

SPACE = (
    "search_space=[compile]",
    "search_space.compile_mode.choices=[none,default]",
    "search_space.compile_mode.requires=[compiler]",
)
"""One compiled mode, at any budget: as it stands it is left out of budgets below 8 minutes."""

SMALL: Sizes = {
    **SIZES,
    "small_decoder": ("data.n_bytes=60000",),
}
"""An epoch of small_decoder then takes some ten seconds on two cores, and compiling it half a
minute, which cannot pay within one epoch; and a study of five minutes has time for a proof."""

CACHE = "TORCHINDUCTOR_CACHE_DIR"


@dataclass(frozen=True)
class Row:
    """One length: what was frozen, and the seconds of its full runs.

    Attributes:
        epochs: Of each full run.
        compile_mode: What the study froze.
        projected: The study's seconds of the whole run with what it froze, and with the defaults.
        default_s: By the clock, of train.py's whole command with the defaults, a run each; empty
            where no full run was done.
        compiled_s: The same compiled.
    """

    epochs: int
    compile_mode: str
    projected: tuple[float, float]
    default_s: tuple[float, ...]
    compiled_s: tuple[float, ...]


def main(argv: list[str]) -> int:
    """One row for each length; 0 if the claim holds, 1 if it does not."""
    args = arguments(argv)
    print(f"before: {uptime()}\n{versions()}", flush=True)
    rows, failed = [], []
    with TemporaryDirectory() as folder:
        for epochs, n_runs in zip(sorted(args.lengths), (args.runs, 0), strict=True):
            try:
                rows.append(measured(Path(folder), epochs, n_runs, args))
            except Unmeasured as error:
                print(f"{error}\n{epochs} epochs are left out", flush=True)
                failed.append(f"{epochs} epochs")
                continue
            print(table(rows[-1:]), flush=True)
            if is_long(rows[-1]) and rows[-1].compile_mode == "none":
                failed.append(f"{epochs} epochs, where nothing proves that compilation pays")
    if len(rows) > 1:
        print(f"\n{table(rows)}")
    claim = "claim: the short run as it is, the long one compiled; not so"
    code = conclude(claim, wrong(rows), failed)
    print(f"after:  {uptime()}")
    return code


def wrong(rows: Sequence[Row]) -> list[str]:
    """What of the claim does not hold; empty if nothing is known against it."""
    faults = []
    for row in rows:
        if is_long(row):
            continue
        if row.compile_mode != "none":
            faults.append(f"{row.epochs} epochs are compiled")
        if log_interval(row.compiled_s).value < log_interval(row.default_s).value:
            faults.append(f"by the clock {row.epochs} epochs take less when they are compiled")
    return faults


def is_long(row: Row) -> bool:
    """Whether it is the long length's: that has no full runs."""
    return not row.default_s


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run_time", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--model", default="small_decoder", help="the workload")
    parser.add_argument("--lengths", type=count, nargs=2, default=[1, 3000], help="in epochs")
    parser.add_argument("--budget", default="5m", help="of each study")
    parser.add_argument("--runs", type=count, default=2, help="full runs each way, by the clock")
    parser.add_argument("--no-sizes", action="store_true", help="the model's own data as it is")
    parser.add_argument("--verbose", action="store_true", help="show what the scripts print")
    parser.add_argument("more", nargs="*", help="further words for both scripts, after --")
    return parser.parse_args(argv)


def measured(folder: Path, epochs: int, n_runs: int, args: argparse.Namespace) -> Row:
    """One length: a study, and so many full runs each way, in turns."""
    study = folder / f"study-{epochs}"
    study.mkdir()
    words = (
        *(*workload(args.model), "objective=run_time", f"run.epochs={epochs}", *SPACE),
        *(f"budget={args.budget}", "bank=none"),
        *words_of(args.model, SMALL, args),
    )
    script("tune.py", study, words, args.verbose)
    (result,) = study.glob("outputs/*/*/result.json")
    frozen = result.with_name("frozen.yaml")
    arms = {name: folder / f"{name}.yaml" for name in ("none", "default")}
    for name, path in arms.items():
        dump(path, Settings(compile_mode=name), {})
    seconds: dict[str, list[float]] = {name: [] for name in arms}
    for i in range(n_runs):
        for name in sorted(arms, reverse=bool(i % 2)):
            seconds[name].append(_full_run_s(folder, arms[name], epochs, args))
    return Row(
        epochs,
        str(load_frozen(frozen).settings.compile_mode),
        projected(json.loads(result.read_text(encoding="utf-8"))),
        tuple(seconds["none"]),
        tuple(seconds["default"]),
    )


def workload(model: str) -> tuple[str, str, str]:
    """The words that name it: one of the zoo, or of benchmarks/conf/model."""
    return "--config-dir", str(ROOT / "benchmarks" / "conf"), f"+model={model}"


def projected(result: dict[str, Any]) -> tuple[float, float]:
    """Seconds of the whole run by a study's result: of the best that was tried, of the baseline."""
    arms = result["winner"] or result["best_tried"] or {}, result["baseline"]
    default, best = ((arm.get("run_time") or {}).get("value", math.nan) for arm in arms[::-1])
    return best, default


def table(rows: Sequence[Row]) -> str:
    """One line a length, in seconds of the whole run."""
    head = (
        "epochs",
        "frozen compile_mode",
        "projected",
        "default",
        "by clock, compiled",
        "default",
    )
    lines = [head]
    for row in rows:
        clocked = (
            log_interval(seconds).value if seconds else math.nan
            for seconds in (row.compiled_s, row.default_s)
        )
        figures = ("-" if math.isnan(s) else f"{s:.0f} s" for s in (*row.projected, *clocked))
        lines.append((str(row.epochs), row.compile_mode, *figures))
    return columns(lines)


def _full_run_s(folder: Path, settings: Path, epochs: int, args: argparse.Namespace) -> float:
    """Seconds of one command of train.py, with nothing compiled before."""
    with TemporaryDirectory(dir=folder) as cache:
        mine = (*workload(args.model), f"settings={settings}", f"epochs={epochs}")
        words = (*mine, *words_of(args.model, SMALL, args))
        started = time.perf_counter()
        script("train.py", folder, words, args.verbose, {CACHE: cache})
        return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
