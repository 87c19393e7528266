"""What benchmarks/search_efficiency.py prints and draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from benchmarks.judged import counted
from benchmarks.peers import expert_settings
from benchmarks.trial_overhead import quantile
from runners.table import Table

if TYPE_CHECKING:
    from benchmarks.search_efficiency import Arm, Searched

OF_BEST_PEER, OF_EXHAUSTIVE = 1 / 5, 1 / 20
REGRET_AFTER_S, MEDIAN_REGRET, HIGH_REGRET = 300.0, 0.01, 0.03

Found = Mapping[tuple[Path, "Arm"], Sequence["Searched"]]
"""Searches by table and arm."""


def show(tables: Sequence[Table], found: Found, budgets_s: Sequence[float]) -> bool:
    """Print a block for each table, then the targets over all. Returns whether none is missed.

    The tables' blocks show each peer with the window that is its best one over all tables.
    """
    shown = at_best_windows(found, budgets_s[-1])
    for table in tables:
        kind = "SYNTHETIC table" if table.header.get("synthetic") else "table"
        exact = "" if table.process_noise else ", each once: no noise between processes"
        print(f"\n{kind} {table.path.name}: {table.name}, {counted(table)}{exact}")
        heads = "".join(f"{f'regret at {s:g} s':>18}" for s in budgets_s)
        print(f"{'':16}{'seeds':>6}{'tried':>6}{'within 2 %, s':>18}{heads}")
        for arm in shown:
            print(line(arm, found[table.path, arm], len(budgets_s)))
        if any(arm.name == "expert" for arm in shown) and expert_settings(table) is None:
            print("it does not have the expert's settings: the baseline's stand for them")
    say_failures(found)
    print(f"\nover all tables, median time to 2 % within {budgets_s[-1]:g} s:")
    return all([of_times(found, budgets_s[-1]), of_regrets(found, budgets_s)])


def line(arm: Arm, searches: Sequence[Searched], n_budgets: int) -> str:
    """Median and 90 % quantile of each figure of one arm."""
    tried = median(search.tried for search in searches)
    near = [search.near_s for search in searches]
    cells = [f"{seconds(median(near))}, {seconds(quantile(near, 0.9))}"]
    for i in range(n_budgets):
        regrets = [search.regrets[i] for search in searches]
        cells.append(f"{median(regrets):.1%}, {quantile(regrets, 0.9):.1%}")
    return f"{arm!s:16}{len(searches):>6}{tried:>6g}" + "".join(f"{cell:>18}" for cell in cells)


def say_failures(found: Found) -> None:
    """Print how many of our studies had no answer, and what the first of them said."""
    failed = [text for search in of_name(found, "ours") for text in search.failed]
    if failed:
        n = len(failed)
        print(f"\n{n} of our studies failed, which counts as a regret of 100 % each; one:")
        print(f"  {failed[0].strip().splitlines()[-1]}")


def of_times(found: Found, horizon_s: float) -> bool:
    """Print how long each arm takes, all tables together, and by what ours is faster.

    A search that is never there takes longer than the horizon, nobody knows by how much: ours is
    compared with the horizon then.
    """
    medians = {arm: typical_s(found, arm) for arm in arms_of(found)}
    for arm, typical in medians.items():
        searches = of_arm(found, arm)
        reached = sum(math.isfinite(search.near_s) for search in searches) / len(searches)
        said = f"  {arm!s:16}{seconds(typical):>8} s, reached by {reached:.0%}"
        if arm.name == "exhaustive":
            whole = median(search.all_s for search in searches)
            said += f"; all has been tried after {seconds(whole)} s"
        print(said)
    ours = next((typical for arm, typical in medians.items() if arm.name == "ours"), None)
    best = [arm for arm in at_best_windows(found, horizon_s) if arm.window_s is not None]
    if ours is None or not best:
        print("times are not compared: that takes ours and a peer that searches")
        return True
    wanted = [(arm, OF_EXHAUSTIVE) for arm in best if arm.name == "exhaustive"]
    wanted.append((min(best, key=lambda arm: order_of(found, arm, horizon_s)), OF_BEST_PEER))
    met = []
    for arm, share in wanted:
        theirs = min(medians[arm], horizon_s)
        met.append(ours <= share * theirs)
        most = "" if math.isfinite(medians[arm]) else "at most "
        part = f"{most}{ours / theirs:.2f}" if math.isfinite(ours) else "no known part"
        print(f"ours takes {part} of {arm}; wanted {share:.2f}: {'met' if met[-1] else 'missed'}")
    return all(met)


def of_regrets(found: Found, budgets_s: Sequence[float]) -> bool:
    """Print our regret after 5 minutes, all tables together."""
    searches = of_name(found, "ours")
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
    shown = at_best_windows(found, budgets_s[-1])
    for (left, right), table in zip(axes, tables, strict=True):
        for arm in shown:
            searches = found[table.path, arm]
            near = sorted(search.near_s for search in searches if math.isfinite(search.near_s))
            shares = [i / len(searches) for i in range(len(near) + 1)]
            times_s = [1.0, *[max(1.0, t) for t in near], budgets_s[-1]]
            left.step(times_s, [*shares, shares[-1]], where="post", label=str(arm))
            columns = zip(*(search.regrets for search in searches), strict=True)
            right.plot(budgets_s, [100 * median(c) for c in columns], "o-", label=str(arm))
        made = "SYNTHETIC " if table.header.get("synthetic") else ""
        left.set(xscale="log", xlabel="s", ylabel="within 2 % for good", ylim=(0, 1))
        left.set_title(f"{made}{table.name}")
        right.set(xlabel="budget, s", ylabel="median regret, %", yscale="symlog")
    axes[0][0].legend()
    figure.savefig(path)
    print(f"plot: {path}")


def at_best_windows(found: Found, horizon_s: float) -> list[Arm]:
    """The arms, each peer once: with the window with which it is soonest there, all tables told."""
    best: dict[str, Arm] = {}
    for arm in arms_of(found):
        rival = best.setdefault(arm.name, arm)
        if order_of(found, arm, horizon_s) < order_of(found, rival, horizon_s):
            best[arm.name] = arm
    return list(best.values())


def typical_s(found: Found, arm: Arm) -> float:
    """The median time of an arm, all tables together."""
    return median(search.near_s for search in of_arm(found, arm))


def order_of(found: Found, arm: Arm, horizon_s: float) -> tuple[float, float]:
    """By this arms are ordered: the median time, then the mean, where never is the horizon."""
    mean = fmean(min(search.near_s, horizon_s) for search in of_arm(found, arm))
    return typical_s(found, arm), mean


def arms_of(found: Found) -> list[Arm]:
    """The arms there are."""
    return list(dict.fromkeys(arm for _, arm in found))


def of_arm(found: Found, arm: Arm) -> list[Searched]:
    """The searches of an arm, all tables together."""
    return [search for (_, other), searches in found.items() if other == arm for search in searches]


def of_name(found: Found, name: str) -> list[Searched]:
    """The searches of all arms of a name, all tables together."""
    return [search for arm in arms_of(found) if arm.name == name for search in of_arm(found, arm)]


def seconds(value: float) -> str:
    """Whole seconds, or never."""
    return f"{value:,.0f}" if math.isfinite(value) else "never"
