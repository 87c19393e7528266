"""Enough: whether a budget is long enough to find and prove anything, once a trial's time is known.

The search has to try a few settings beside baseline and expert, and the proof has to compare the
best with the baseline in a few rounds. With a longer budget trials grow a little, since windows are
a share of it.
"""

from __future__ import annotations

from hotlap.job import Window
from studies.budget import END_S, WINDOW
from studies.study_doubts import FEW_ROUNDS

SEARCHED = 4
"""Settings that the search should be able to try; with fewer there is hardly a best one."""

EXPERT, NUMERICS = 1, 2
"""Trials, or what takes as long, that come with the search and with the proof."""

MINUTES = (1, 2, 3, 5, 8, 10, 15, 20, 30, 45)
HOURS = (1, 1.5, 2, 3, 4, 6, 8, 12, 24, 48, 96, 168)
BUDGETS = (*((60 * m, f"{m}m") for m in MINUTES), *((3600 * h, f"{h:g}h") for h in HOURS))
"""Budgets as a person would type them, in seconds and in words; the last one for all above."""


def too_short(
    budget_s: float,
    spent_s: float,
    trial_s: float,
    prove: float,
    n_trials: int | None = None,
    max_rounds: int = FEW_ROUNDS,
) -> str:
    """What the budget is too short for, and how much would do; empty if it is long enough.

    Args:
        budget_s: The whole.
        spent_s: Until the first trial had ended.
        trial_s: Of that trial.
        prove: Share of the budget (0..1) that is kept for the proof.
        n_trials: So many are asked for, if that is less than usual.
        max_rounds: The same for rounds.
    """
    searched = min(SEARCHED, n_trials or SEARCHED)
    needs = (spent_s, prove, searched, min(FEW_ROUNDS, max_rounds))
    if _fits(budget_s, trial_s, *needs):
        return ""
    return (
        f"a trial takes about {trial_s:.1f} s here: budget={budget_s:g}s is too short to try "
        f"{searched} settings and to prove the best of them; budget="
        f"{_enough(budget_s, trial_s, *needs)} would do"
    )


def more(budget_s: float, spent_s: float, trial_s: float, prove: float) -> str:
    """A budget that is enough, as typed after `budget=`, where a trial takes `trial_s` or more."""
    return _enough(budget_s, trial_s, spent_s, prove, SEARCHED, FEW_ROUNDS)


def _enough(
    budget_s: float, trial_s: float, spent_s: float, prove: float, searched: int, n_rounds: int
) -> str:
    for seconds, words in BUDGETS:
        longest_s = Window().max_s / WINDOW  # a longer budget makes windows no longer than that
        longer_s = max(0.0, min(seconds, longest_s) - budget_s) * WINDOW
        if seconds > budget_s and _fits(
            seconds, trial_s + longer_s, spent_s + longer_s, prove, searched, n_rounds
        ):
            return words
    return BUDGETS[-1][1]


def _fits(
    budget_s: float, trial_s: float, spent_s: float, prove: float, searched: int, n_rounds: int
) -> bool:
    search_s = spent_s + (EXPERT + searched) * trial_s
    proof_s = (2 * n_rounds + NUMERICS) * trial_s + END_S
    return search_s <= (1 - prove) * budget_s and proof_s <= prove * budget_s
