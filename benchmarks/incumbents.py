"""Incumbents: what a search would answer at each time, and how good that is in truth.

The incumbent is what the search itself believes to be the best so far: of ours it is asked
(`Replayed.beliefs`), of a peer it is the best rate measured. How good it is, the table knows
(`Table.regret`). What comes after the horizon counts for no search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hotlap.settings import Settings
from runners.replay import Played
from runners.table import Table

NEAR = 0.02
"""Within this share of the table's best the search has found it."""

Incumbents = Sequence[tuple[float, Settings]]
"""(seconds, settings): from then on these are the incumbent, in the order of time."""


def of_trials(trials: Sequence[Played]) -> list[tuple[float, Settings]]:
    """The incumbents of a peer: it takes the best measured rate, each settings value's first."""
    found: list[tuple[float, Settings]] = []
    best, seen = 0.0, set()
    for trial in trials:
        key = trial.settings.key()
        if key not in seen and trial.outcome == "ok" and trial.samples_per_s > best:
            best = trial.samples_per_s
            found.append((trial.end_s, trial.settings))
        seen.add(key)
    return found


def near_s(table: Table, incumbents: Incumbents, horizon_s: float) -> float:
    """Seconds until the incumbent is within `NEAR` of the best, and stays so until `horizon_s`.

    Infinite if it never is.
    """
    since = math.inf
    for at_s, settings in incumbents:
        if at_s > horizon_s:
            break
        if table.regret(settings) > NEAR:
            since = math.inf
        else:
            since = min(since, at_s)
    return since


def regret_at(table: Table, incumbents: Incumbents, budget_s: float) -> float:
    """The regret (0..1) of what is the incumbent at `budget_s`; 1 where there is none yet."""
    known = [settings for at_s, settings in incumbents if at_s <= budget_s]
    return table.regret(known[-1]) if known else 1.0
