"""Records the tables of benchmarks/tables: five real workloads, each with its whole space.

    python -m benchmarks.record_tables
    python -m benchmarks.record_tables gpt digits --repeats 3 --folder mine

Each is one command of tune.py, which is printed: typed again it goes on where it ended. A table
that is whole is packed, for benchmarks/search_efficiency.py to find; one that is not leaves an
earlier packed one alone. Record while nothing else runs; on two cores all five take half an hour
for each repeat.

The spaces hold the knobs that matter on a CPU, and workloads are small, so that a settings value
takes some four seconds: many short processes tell more of a noisy machine than a few long ones.
"""

from __future__ import annotations

import argparse
import gzip
import shlex
import subprocess
import sys
from pathlib import Path

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.judged import space_of  # noqa: E402
from benchmarks.machine import ROOT, count, interruptible, uptime, versions  # noqa: E402
from runners.table import Table  # noqa: E402
from runners.table_check import PACKED  # noqa: E402

WINDOW = (
    "window.min_s=1",
    "window.max_s=2.5",
    "window.block_s=0.2",
    "window.max_warmup_s=2.5",
    "window.precision=0.015",
)
"""Short windows: what differs from process to process is found by repeats alone."""

OWN_THREADS = "search_space.intraop_threads.choices=[null,1]"
LONG_EPOCH = "data.n_epoch_images=65536"  # as real data sets have: no epoch ends in a window
NOT_HERE = ("~search_space.interop_threads", "~search_space.allocator")
PLAIN_LOADER = (
    "search_space.prefetch_factor.choices=[2]",
    "~search_space.persistent_workers",
    "~search_space.multiprocessing_context",
    "~search_space.in_order",
)

TABLES: dict[str, tuple[str, ...]] = {
    # Images from JPEGs: the loader binds.
    "jpegs": (
        "--config-dir",
        "benchmarks/conf",
        "+model=small_images",
        LONG_EPOCH,
        "search_space=[dataloader,threads,memory_format]",
        "search_space.num_workers.choices=[0,1,2,3,4]",
        *PLAIN_LOADER,
        "search_space.prefetch_factor.choices=[2,4]",
        "~search_space.worker_threads",
        "search_space.omp_wait_policy.choices=[default,passive]",
        OWN_THREADS,
        *NOT_HERE,
    ),
    # Images that are there already: the model binds.
    "images": (
        "+model=resnet18",
        "data=resident",
        "model.batch_size=4",
        "model.image_size=64",
        "search_space=[threads,memory_format,optimizer]",
        "~search_space.worker_threads",
        OWN_THREADS,
        *NOT_HERE,
    ),
    # A transformer on text.
    "gpt": (
        "+model=gpt_small",
        "model.batch_size=4",
        "model.context=64",
        "model.n_layers=2",
        "model.n_heads=2",
        "model.width=128",
        "search_space=[threads,optimizer,attention]",
        "search_space.sdpa_backend.choices=[default,math]",
        "~search_space.worker_threads",
        OWN_THREADS,
        *NOT_HERE,
    ),
    # Detection: each step has other shapes.
    "detector": (
        "+model=detector",
        "model.batch_size=1",
        "model.image_size=48",
        LONG_EPOCH,
        "search_space=[dataloader,threads,memory_format,optimizer]",
        "search_space.num_workers.choices=[0,1,2]",
        *PLAIN_LOADER,
        "~search_space.worker_threads",
        "~search_space.set_to_none",
        "search_space.omp_wait_policy.choices=[default,passive]",
        OWN_THREADS,
        *NOT_HERE,
    ),
    # A tiny network, whose steps are mostly Python.
    "digits": (
        "+model=digits_mlp",
        "search_space=[dataloader,threads,optimizer,compile]",
        "search_space.num_workers.choices=[0,1,2]",
        *PLAIN_LOADER,
        "~search_space.worker_threads",
        "~search_space.set_to_none",
        "search_space.omp_wait_policy.choices=[default,passive]",
        OWN_THREADS,
        *NOT_HERE,
    ),
}
"""Table -> what is typed behind `python tune.py`."""


def command(name: str, folder: Path, repeats: int, n_trials: int | None) -> list[str]:
    """The words that record table `name` in `folder`."""
    more = [f"n_trials={n_trials}"] if n_trials else []
    table = f"record={folder / name}.jsonl"
    fixed = ["sampler=brute_force", table, f"record_repeats={repeats}", "tracking=none"]
    return [sys.executable, "tune.py", *TABLES[name], *WINDOW, *fixed, *more]


def to_its_end(words: list[str]) -> int:
    """The exit code of a command; one that Ctrl-C meets ends by itself, with what it has to say."""
    with subprocess.Popen(words, cwd=ROOT) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


def packed(path: Path, repeats: int) -> str:
    """Pack the table at `path` beside it, if it is whole. Returns a sentence."""
    table = Table.read(path)
    wanted = {settings.key(): settings for settings in (table.base, *space_of(table).grid())}
    n_missing = sum(max(0, repeats - len(table.of(settings))) for settings in wanted.values())
    if n_missing:
        return f"{path.name} is not whole: {n_missing} trials are to come; nothing was packed"
    target = path.with_name(path.name + PACKED)
    aside = target.with_name(f".{target.name}")
    aside.write_bytes(gzip.compress(path.read_bytes(), mtime=0))  # no time: equal if equal
    aside.replace(target)
    return f"packed into {target}"


def main(argv: list[str]) -> int:
    """Record what `argv` asks for; the exit code of the first that failed, or 0."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.record_tables",
        description=(__doc__ or "").partition("\n\n")[0],
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--repeats", type=count, default=2, help="processes a settings value")
    parser.add_argument("--n-trials", type=count, help="end each table's session after so many")
    parser.add_argument("--folder", type=Path, default=ROOT / "benchmarks" / "tables")
    args = parser.parse_args(argv)
    if unknown := set(args.tables) - set(TABLES):
        parser.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    print(f"before: {uptime()}\n{versions()}", flush=True)
    for name in args.tables or TABLES:
        words = command(name, args.folder.resolve(), args.repeats, args.n_trials)
        print(shlex.join(words), flush=True)
        if code := to_its_end(words):
            return code
        print(packed(args.folder.resolve() / f"{name}.jsonl", args.repeats), flush=True)
    print(f"after:  {uptime()}")
    return 0


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
