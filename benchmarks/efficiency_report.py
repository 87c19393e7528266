"""What benchmarks/search_efficiency.py prints and draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.trial_overhead import quantile
from runners.table import Table

if TYPE_CHECKING:
    from benchmarks.search_efficiency import Searched

OF_BEST_PEER, OF_EXHAUSTIVE = 1 / 5, 1 / 20
REGRET_AFTER_S, MEDIAN_REGRET, HIGH_REGRET = 300.0, 0.01, 0.03

Found = Mapping[tuple[Path, str], Sequence["Searched"]]
"""Searches by table and arm."""


def show(tables: Sequence[Table], found: Found, budgets_s: Sequence[float]) -> bool:
    """Print a block for each table, then the targets over all. Returns whether all are met."""
    for table in tables:
        kind = "SYNTHETIC table" if table.header.get("synthetic") else "table"
        n_settings = len({row.settings.key() for row in table.rows})
        print(f"\n{kind} {table.path.name}: {table.name}, {n_settings} settings")
        heads = "".join(f"{f'regret at {s:g} s':>18}" for s in budgets_s)
        print(f"{'':12}{'seeds':>6}{'tried':>6}{'within 2 %, s':>18}{heads}")
        for arm in arms_of(found):
            print(line(arm, found[table.path, arm], len(budgets_s)))
    print("\nover all tables, median time to 2 %:")
    return all([of_times(found), of_regrets(found, budgets_s)])


def line(arm: str, searches: Sequence[Searched], n_budgets: int) -> str:
    """Median and 90 % quantile of each figure of one arm."""
    tried = median(search.tried for search in searches)
    near = [search.near_s for search in searches]
    cells = [f"{seconds(median(near))}, {seconds(quantile(near, 0.9))}"]
    for i in range(n_budgets):
        regrets = [search.regrets[i] for search in searches]
        cells.append(f"{median(regrets):.1%}, {quantile(regrets, 0.9):.1%}")
    return f"{arm:12}{len(searches):>6}{tried:>6g}" + "".join(f"{cell:>18}" for cell in cells)


def of_times(found: Found) -> bool:
    """Print how long each arm takes, all tables together, and by what ours is faster."""
    times = {arm: [s.near_s for s in of_arm(found, arm)] for arm in arms_of(found)}
    medians = {arm: median(near) for arm, near in times.items()}
    for arm, typical in medians.items():
        reached = sum(map(math.isfinite, times[arm])) / len(times[arm])
        print(f"  {arm:12}{seconds(typical):>8} s, reached by {reached:.0%}")
    if "ours" not in medians or len(medians) == 1:
        return True
    ours = medians["ours"]
    searchers = {arm: t for arm, t in medians.items() if arm not in ("ours", "expert")}
    met = []
    wanted = [(arm, OF_EXHAUSTIVE) for arm in searchers if arm == "exhaustive"]
    if searchers:
        wanted.append((min(searchers, key=lambda arm: searchers[arm]), OF_BEST_PEER))
    for arm, share in wanted:
        met.append(ours <= share * searchers[arm] and math.isfinite(ours))
        part = f"{ours / searchers[arm]:.2f}" if math.isfinite(searchers[arm]) else "0"
        print(f"ours takes {part} of {arm}; wanted {share:.2f}: {'met' if met[-1] else 'missed'}")
    return all(met)


def of_regrets(found: Found, budgets_s: Sequence[float]) -> bool:
    """Print our regret after 5 minutes, all tables together."""
    searches = of_arm(found, "ours")
    if not searches:
        return True
    regrets = [search.regrets[list(budgets_s).index(REGRET_AFTER_S)] for search in searches]
    typical, high = median(regrets), quantile(regrets, 0.9)
    met = typical <= MEDIAN_REGRET and high <= HIGH_REGRET
    print(
        f"our regret after {REGRET_AFTER_S:g} s: {typical:.1%} at the median, {high:.1%} at the "
        f"90 % quantile; wanted {MEDIAN_REGRET:.0%} and {HIGH_REGRET:.0%}: "
        f"{'met' if met else 'missed'}"
    )
    return met


def plot(tables: Sequence[Table], found: Found, budgets_s: Sequence[float], path: Path) -> None:
    """Draw for each table which share of the searches is within 2 % at each time, and regrets."""
    from matplotlib.figure import Figure  # no part of hotlap: MLflow brings it

    figure = Figure(figsize=(9, 3 * len(tables)), layout="constrained")
    axes: Any = figure.subplots(len(tables), 2, squeeze=False)
    for (left, right), table in zip(axes, tables, strict=True):
        for arm in arms_of(found):
            searches = found[table.path, arm]
            near = sorted(search.near_s for search in searches if math.isfinite(search.near_s))
            shares = [i / len(searches) for i in range(len(near) + 1)]
            left.step([1, *[max(1.0, t) for t in near]], shares, where="post", label=arm)
            columns = zip(*(search.regrets for search in searches), strict=True)
            right.plot(budgets_s, [100 * median(column) for column in columns], "o-", label=arm)
        made = "SYNTHETIC " if table.header.get("synthetic") else ""
        left.set(xscale="log", xlabel="s", ylabel="within 2 % for good", ylim=(0, 1))
        left.set_title(f"{made}{table.name}")
        right.set(xlabel="budget, s", ylabel="median regret, %", yscale="symlog")
    axes[0][0].legend()
    figure.savefig(path)
    print(f"plot: {path}")


def arms_of(found: Found) -> list[str]:
    """The arms there are."""
    return list(dict.fromkeys(arm for _, arm in found))


def of_arm(found: Found, arm: str) -> list[Searched]:
    """The searches of an arm, all tables together."""
    return [search for (_, name), searches in found.items() if name == arm for search in searches]


def seconds(value: float) -> str:
    """Whole seconds, or never."""
    return f"{value:,.0f}" if math.isfinite(value) else "never"
