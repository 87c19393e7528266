"""How much clock racing saves against fixed windows, at the same final answer.

    python -m benchmarks.racing recorded/*.jsonl
    python -m benchmarks.racing                  (a synthetic table, to see what it prints)

Whole studies replayed on recorded tables (docs/tables.md), for many seeds, with the same noise for
each arm:

- fixed: every trial has its whole window, 8 s;
- short: every trial has the shortest window, 2 s;
- precise: a window ends as soon as its interval is as narrow as processes are alike, as by default;
- racing: as precise, and a trial ends as soon as it has lost (the default).

First, all arms walk the whole space in one order (`sampler=brute_force`): the clock until its last
trial is done, then the true rate of what each froze, as the share that it stays behind the table's
best (regret; 1 for a study that failed). Second, the default sampler within one budget: how many
settings values each arm could try, and the regret. In every arm a trial four times slower than the
best one's ends within its warm-up, so the figures are what racing adds to that.

A table in which nothing was recorded twice has no noise between processes, which is what racing may
be wrong by: its figures are printed, and the claim is not judged on it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.judged import counted, judging  # noqa: E402
from benchmarks.machine import UNJUDGED, count, interruptible  # noqa: E402
from benchmarks.replay_study import Replayed, replay_study  # noqa: E402
from benchmarks.synthetic_table import write  # noqa: E402
from benchmarks.trial_overhead import quantile  # noqa: E402
from hotlap.errors import UserInputError  # noqa: E402
from runners.table import Table  # noqa: E402

ARMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fixed": ("none", ("window.min_s=8", "window.max_s=8")),
    "short": ("none", ("window.min_s=2", "window.max_s=2")),
    "precise": ("none", ()),
    "racing": ("racing", ()),
}
"""Name -> pruner and further overrides."""

WITHOUT_END_S = 1e6
"""A budget that no walk through a table uses up."""

SAME = 0.01
"""An answer is the same if its regret, a share of the best rate, is larger by this much at most."""


def main(argv: list[str]) -> int:
    """Print both tables of every recorded table.

    Returns:
        0 if the answers are the same, 1 if they differ, 2 if a table is damaged, `UNJUDGED` if
        none has the noise that the claim is judged by.
    """
    args = arguments(argv)
    try:
        with TemporaryDirectory() as folder:
            paths = args.tables or [write(Path(folder) / "synthetic.jsonl")]
            found = [report(table, args.seeds, args.budget_s) for table in judging(paths)]
    except UserInputError as error:
        print(error, file=sys.stderr)
        return 2
    if set(found) == {None}:
        return UNJUDGED
    return 1 if False in found else 0


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.racing", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("tables", nargs="*", type=Path, help="recorded tables")
    parser.add_argument("--seeds", type=count, default=30, help="studies for each arm")
    parser.add_argument("--budget-s", type=float, default=600.0, help="of the second comparison")
    return parser.parse_args(argv)


def report(table: Table, n_seeds: int, budget_s: float) -> bool | None:
    """Print what one table says. Returns whether racing's answer is as good as that of `fixed`.

    None where that is not judged, for want of noise.
    """
    kind = "SYNTHETIC table" if table.header.get("synthetic") else "table"
    print(f"\n{kind} {table.path.name}: {table.name}, {counted(table)}, {n_seeds} seeds")
    walks = {arm: walked(table, arm, n_seeds) for arm in ARMS}
    print(
        f"{'the same trials':18}{'clock':>10}{'saved':>8}{'10..90 %':>16}"
        f"{'regret, median, 90 %':>24}"
    )
    for arm, studies in walks.items():
        saved = savings(walks["fixed"], studies)
        spread = f"{quantile(saved, 0.1):.0%} .. {quantile(saved, 0.9):.0%}"
        clock = f"{median(study.searched_s for study in studies):,.0f} s"
        print(f"{arm:18}{clock:>10}{median(saved):>8.0%}{spread:>16}{regrets(studies):>24}")
    print(f"{f'within {budget_s:g} s':18}{'tried':>10}{'':24}{'regret, median, 90 %':>24}")
    within = {
        arm: [
            replay_study(table, seed, budget_s, pruner=pruner, words=words)
            for seed in range(n_seeds)
        ]
        for arm, (pruner, words) in ARMS.items()
    }
    for arm, studies in within.items():
        tried = f"{median(study.n_tried for study in studies):g}"
        print(f"{arm:18}{tried:>10}{'':24}{regrets(studies):>24}")
    for arm in ARMS:
        failed = [study.failed for study in (*walks[arm], *within[arm]) if study.failed]
        if failed:
            said = failed[0].strip().splitlines()[-1]
            print(f"{arm}: {len(failed)} of {2 * n_seeds} studies failed; one: {said}")
    at_median, at_90 = worse(walks["fixed"], walks["racing"])
    same: bool | None = max(at_median, at_90) <= SAME
    verdict = "kept" if same else "missed"
    if not table.process_noise:
        same, verdict = None, "not judged, for processes that run the same are exact in this table"
    print(
        f"racing's regret less that of fixed: {at_median:+.1%} at the median, {at_90:+.1%} at the "
        f"90 % quantile; claim: at most {SAME:.0%} each: {verdict}"
    )
    return same


def walked(table: Table, arm: str, n_seeds: int) -> list[Replayed]:
    """A walk through the whole space for each seed."""
    pruner, words = ARMS[arm]
    return [
        replay_study(table, seed, WITHOUT_END_S, "brute_force", pruner, words)
        for seed in range(n_seeds)
    ]


def savings(fixed: Sequence[Replayed], other: Sequence[Replayed]) -> list[float]:
    """The share of the clock (0..1) that `other` saved until the end of its search, by seed.

    Studies that failed have no such end, and nothing is saved by one.
    """
    return [
        0.0 if a.failed or b.failed else 1 - b.searched_s / a.searched_s
        for a, b in zip(fixed, other, strict=True)
    ]


def worse(fixed: Sequence[Replayed], racing: Sequence[Replayed]) -> tuple[float, float]:
    """How much more regret racing has: the median over the seeds, and that of the 90 % quantiles.

    The median alone would not see an answer that is far off in two studies of ten.
    """
    more = [b.regret - a.regret for a, b in zip(fixed, racing, strict=True)]
    high = [quantile([study.regret for study in studies], 0.9) for studies in (fixed, racing)]
    return median(more), high[1] - high[0]


def regrets(studies: Sequence[Replayed]) -> str:
    """The median and the 90 % quantile of the regrets."""
    found = [study.regret for study in studies]
    return f"{median(found):.1%}, {quantile(found, 0.9):.1%}"


if __name__ == "__main__":
    sys.exit(interruptible(main, sys.argv[1:]))
