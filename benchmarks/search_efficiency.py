"""How soon a search has the best settings, beside what an engineer would write instead.

    python -m benchmarks.search_efficiency --plot efficiency.png     (on benchmarks/tables)
    python -m benchmarks.search_efficiency mine/*.jsonl
    python -m benchmarks.search_efficiency --synthetic

Whole searches replayed on recorded tables (docs/tables.md), for many seeds: ours, tune.py's whole
course as it is, and the peers of benchmarks/peers.py, each with windows of 2, 4 and 8 s. Two
figures, medians and 90 % quantiles over the seeds:

- the time until the true rate of what the search believes to be best is within 2 % of the table's
  best, and stays there to the horizon, the longest budget (10 minutes), the same for all. Who is
  not there by then counts as never, and what comes later counts for nobody. Ours ends with what it
  freezes. Of exhaustive search it is said, too, when all has been tried, however late that is.
- the regret: by which share the true rate of the answer stays behind the table's best. Ours is
  what a study of that budget freezes, or 1 if the study fails; a peer's is its incumbent at that
  time, unproven.

Where a table has only some of its space, all search among these.

To reach, over all tables: a median time of at most 1/5 of the best peer's and 1/20 of exhaustive
search's, each with the window that turned out to be its best; after 5 minutes a regret of 1 % at
the median and 3 % at the 90 % quantile.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import efficiency_report, incumbents  # noqa: E402
from benchmarks.judged import judge, judging  # noqa: E402
from benchmarks.machine import UNJUDGED, count, interruptible  # noqa: E402
from benchmarks.peers import NAMES, SEARCHERS, WINDOWS_S, Peer, expert_settings  # noqa: E402
from benchmarks.replay_study import replay_study, within_limits  # noqa: E402
from benchmarks.synthetic_machine import SHAPES  # noqa: E402
from benchmarks.synthetic_table import write  # noqa: E402
from conf.schema import Constraints  # noqa: E402
from hotlap.errors import UserInputError  # noqa: E402
from runners.table import Table  # noqa: E402

ARMS = ("ours", *NAMES)
BUDGETS_S = (120.0, 300.0, 600.0)
HORIZON_S = BUDGETS_S[-1]
RECORDED = Path(__file__).parent / "tables"

REPEATS = 6
"""Of each settings value in a synthetic table: its own truth is then known to 1 %."""


@dataclass(frozen=True)
class Arm:
    """Who searches.

    Attributes:
        name: One of `ARMS`.
        window_s: How long a peer times each trial; None for ours and for the expert.
    """

    name: str
    window_s: float | None = None

    def __str__(self) -> str:
        return self.name if self.window_s is None else f"{self.name}, {self.window_s:g} s"


@dataclass(frozen=True)
class Task:
    """One arm on one table with one seed."""

    table: Path
    arm: Arm
    seed: int
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Searched:
    """What came of a task.

    Attributes:
        near_s: Seconds until within 2 % for good; infinite if never within the horizon.
        regrets: Those of the answers at each of `BUDGETS_S`, 0..1.
        tried: Settings values that were measured within the horizon.
        all_s: Seconds until every settings value had been tried; infinite if not all were.
        failed: Why studies had no answer.
    """

    near_s: float
    regrets: tuple[float, ...]
    tried: int
    all_s: float = math.inf
    failed: tuple[str, ...] = ()


def main(argv: list[str]) -> int:
    """Print the comparison.

    Returns:
        0 if all targets are met, 1 if one is missed, 2 if a table is damaged, `UNJUDGED` if ours
        or every peer that searches was left out.
    """
    args = arguments(argv)
    try:
        with TemporaryDirectory() as folder:
            paths = args.tables or sorted(RECORDED.glob("*.jsonl.gz"))
            if args.synthetic:
                paths = [
                    write(Path(folder) / f"{shape}.jsonl", n_repeats=REPEATS, shape=shape)
                    for shape in SHAPES
                ]
            tables = judging(paths)
            found = searched(paths, args)
    except UserInputError as error:
        print(error, file=sys.stderr)
        return 2
    met = efficiency_report.show(tables, found, BUDGETS_S)
    if args.plot:
        efficiency_report.plot(tables, found, BUDGETS_S, args.plot)
    compared = "ours" in args.arms and not set(SEARCHERS).isdisjoint(args.arms)
    return 1 if not met else 0 if compared else UNJUDGED


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.search_efficiency",
        description=(__doc__ or "").partition("\n\n")[0],
    )
    parser.add_argument("tables", nargs="*", type=Path, help="recorded; benchmarks/tables if none")
    parser.add_argument("--synthetic", action="store_true", help="tables of made-up machines")
    parser.add_argument("--seeds", type=count, default=30, help="searches for each arm")
    parser.add_argument("--gp-seeds", type=count, default=5, help="of gp, which thinks for long")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument(
        "--windows-s", nargs="+", type=float, default=list(WINDOWS_S), help="of the peers"
    )
    parser.add_argument("--words", nargs="+", default=[], help="further overrides for ours")
    parser.add_argument("--processes", type=count, default=1)
    parser.add_argument("--plot", type=Path, help="a PNG (needs matplotlib)")
    args = parser.parse_args(argv)
    if min(args.windows_s) <= 0:
        parser.error("--windows-s takes seconds, more than 0")
    return args


def arms_of(args: argparse.Namespace) -> list[Arm]:
    """The arms that are asked for, each peer that searches with each window."""
    windows_s = dict.fromkeys(args.windows_s)
    return [
        Arm(name, window_s)
        for name in dict.fromkeys(args.arms)
        for window_s in (windows_s if name in SEARCHERS else (None,))
    ]


def searched(
    paths: Sequence[Path], args: argparse.Namespace
) -> dict[tuple[Path, Arm], list[Searched]]:
    """All searches, by table and arm."""
    tasks = [
        Task(path, arm, seed, tuple(args.words))
        for path in paths
        for arm in arms_of(args)
        for seed in range(min(args.seeds, args.gp_seeds) if arm.name == "gp" else args.seeds)
    ]
    if args.processes > 1:
        # Ctrl-C is this process's affair, which ends the others.
        ignore = (signal.SIGINT, signal.SIG_IGN)
        with get_context("spawn").Pool(args.processes, signal.signal, ignore) as pool:
            results = list(told(pool.imap(search, tasks), tasks))
    else:
        results = list(told(map(search, tasks), tasks))
    found: dict[tuple[Path, Arm], list[Searched]] = {}
    for task, result in zip(tasks, results, strict=True):
        found.setdefault((task.table, task.arm), []).append(result)
    return found


def told(results: Iterable[Searched], tasks: Sequence[Task]) -> Iterator[Searched]:
    """The results as they come, with a line on stderr for each arm of a table that is done."""
    for i, result in enumerate(results, 1):
        yield result
        last = tasks[i - 1]
        if i == len(tasks) or (tasks[i].table, tasks[i].arm) != (last.table, last.arm):
            print(f"{i} of {len(tasks)}: {last.arm} on {last.table.name}", file=sys.stderr)


@cache
def table_of(path: Path) -> Table:
    """The table at `path`, read once in each process."""
    return within_limits(judge(path), Constraints())


def search(task: Task) -> Searched:
    """One arm on one table with one seed."""
    table = table_of(task.table)
    if task.arm.name == "ours":
        return ours(table, task)
    if task.arm.window_s is None:
        return judged(table, [(0.0, expert_settings(table) or table.base)], 0)
    peer = Peer(table, task.seed, task.arm.window_s)
    trials = peer.run(task.arm.name, HORIZON_S).trials
    tried = sum(trial.end_s <= HORIZON_S for trial in trials)
    all_s = trials[-1].end_s if peer.left == 0 else math.inf
    return judged(table, incumbents.of_trials(trials), tried, all_s)


def judged(
    table: Table, known: incumbents.Incumbents, tried: int, all_s: float = math.inf
) -> Searched:
    """A peer's search by its incumbents."""
    regrets = tuple(incumbents.regret_at(table, known, budget_s) for budget_s in BUDGETS_S)
    return Searched(incumbents.near_s(table, known, HORIZON_S), regrets, tried, all_s)


def ours(table: Table, task: Task) -> Searched:
    """A whole study for each budget.

    The incumbents are what the longest one believed as it went, and at its end what it froze. Of a
    study that failed there is no answer, so it was never near.
    """
    studies = [replay_study(table, task.seed, s, words=task.words) for s in BUDGETS_S]
    longest = studies[-1]
    near_s = math.inf
    if longest.winner is not None:
        known = [*longest.beliefs, (longest.clock_s, longest.winner)]
        near_s = incumbents.near_s(table, known, HORIZON_S)
    return Searched(
        near_s,
        tuple(study.regret for study in studies),
        longest.n_tried,
        failed=tuple(study.failed for study in studies if study.failed),
    )


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
