"""How soon a search has the best settings, beside what an engineer would write instead.

    python -m benchmarks.search_efficiency --plot efficiency.png     (on benchmarks/tables)
    python -m benchmarks.search_efficiency mine/*.jsonl
    python -m benchmarks.search_efficiency --synthetic

Whole searches replayed on recorded tables (docs/tables.md), for many seeds: ours, tune.py's whole
course as it is, and the peers of benchmarks/peers.py. Two figures, medians and 90 % quantiles over
the seeds:

- the time until the incumbent's true rate is within 2 % of the table's best, and stays there to
  the search's end. Ours ends with what it freezes at the longest budget (10 minutes); one of
  Optuna's samplers at `--horizon-s` (20 minutes), exhaustive search when all has been tried.
- the regret: by which share the true rate of the answer stays behind the table's best. Ours is
  what a study of that budget freezes; a peer's is its incumbent at that time, unproven.

To reach, over all tables: a median time of at most 1/5 of the best peer's and 1/20 of exhaustive
search's; after 5 minutes a regret of 1 % at the median and 3 % at the 90 % quantile.
"""

from __future__ import annotations

import argparse
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
from benchmarks.peers import NAMES, Peer, expert_settings  # noqa: E402
from benchmarks.replay_study import replay_study, within_limits  # noqa: E402
from benchmarks.synthetic_machine import SHAPES  # noqa: E402
from benchmarks.synthetic_table import write  # noqa: E402
from conf.schema import Constraints  # noqa: E402
from hotlap.errors import UserInputError  # noqa: E402
from runners.table import Table  # noqa: E402

ARMS = ("ours", *NAMES)
BUDGETS_S = (120.0, 300.0, 600.0)
RECORDED = Path(__file__).parent / "tables"

REPEATS = 6
"""Of each settings value in a synthetic table: its own truth is then known to 1 %."""


@dataclass(frozen=True)
class Task:
    """One arm on one table with one seed."""

    table: Path
    arm: str
    seed: int
    horizon_s: float
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Searched:
    """What came of a task.

    Attributes:
        near_s: Seconds until within 2 % for good; infinite if never.
        regrets: Those of the answers at each of `BUDGETS_S`, 0..1.
        tried: Settings values that were measured in the longest search.
    """

    near_s: float
    regrets: tuple[float, ...]
    tried: int


def main(argv: list[str]) -> int:
    """Print the comparison; 1 if a target is missed, 2 if a table is damaged."""
    args = arguments(argv)
    try:
        with TemporaryDirectory() as folder:
            paths = args.tables or sorted(RECORDED.glob("*.jsonl.gz"))
            if args.synthetic:
                paths = [
                    write(Path(folder) / f"{shape}.jsonl", n_repeats=REPEATS, shape=shape)
                    for shape in SHAPES
                ]
            tables = [table_of(path) for path in paths]
            found = searched(paths, args)
    except UserInputError as error:
        print(error, file=sys.stderr)
        return 2
    met = efficiency_report.show(tables, found, BUDGETS_S)
    if args.plot:
        efficiency_report.plot(tables, found, BUDGETS_S, args.plot)
    return 0 if met else 1


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.search_efficiency",
        description=(__doc__ or "").partition("\n\n")[0],
    )
    parser.add_argument("tables", nargs="*", type=Path, help="recorded; benchmarks/tables if none")
    parser.add_argument("--synthetic", action="store_true", help="tables of made-up machines")
    parser.add_argument("--seeds", type=int, default=30, help="searches for each arm")
    parser.add_argument("--gp-seeds", type=int, default=5, help="of gp, which thinks for long")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--horizon-s", type=float, default=1200.0, help="of Optuna's peers")
    parser.add_argument("--words", nargs="+", default=[], help="further overrides for ours")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--plot", type=Path, help="a PNG (needs matplotlib)")
    return parser.parse_args(argv)


def searched(
    paths: Sequence[Path], args: argparse.Namespace
) -> dict[tuple[Path, str], list[Searched]]:
    """All searches, by table and arm."""
    tasks = [
        Task(path, arm, seed, args.horizon_s, tuple(args.words))
        for path in paths
        for arm in args.arms
        for seed in range(min(args.seeds, args.gp_seeds) if arm == "gp" else args.seeds)
    ]
    if args.processes > 1:
        with get_context("spawn").Pool(args.processes) as pool:
            results = list(told(pool.imap(search, tasks), tasks))
    else:
        results = list(told(map(search, tasks), tasks))
    found: dict[tuple[Path, str], list[Searched]] = {}
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
    return within_limits(Table.read(path), Constraints())


def search(task: Task) -> Searched:
    """One arm on one table with one seed."""
    table = table_of(task.table)
    if task.arm == "ours":
        return ours(table, task)
    if task.arm == "expert":
        known: incumbents.Incumbents = [(0.0, expert_settings(table))]
        tried = 0
    else:
        trials = Peer(table, task.seed).run(task.arm, task.horizon_s).trials
        known, tried = incumbents.of_trials(trials), len(trials)
    regrets = [incumbents.regret_at(table, known, budget_s) for budget_s in BUDGETS_S]
    return Searched(incumbents.near_s(table, known), tuple(regrets), tried)


def ours(table: Table, task: Task) -> Searched:
    """A whole study for each budget; the incumbents are those of the longest, then its answer."""
    studies = [replay_study(table, task.seed, s, words=task.words) for s in BUDGETS_S]
    longest = studies[-1]
    known = incumbents.of_trials(longest.trials)
    near_s = incumbents.near_s(table, [*known, (longest.clock_s, longest.winner)])
    return Searched(near_s, tuple(study.regret for study in studies), longest.n_tried)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
