"""Enough: whether a budget is long enough to find and prove anything, once a trial's time is known.

The search has to try a few settings beside baseline and expert, and the proof has to compare the
best with the baseline in a few rounds. With a longer budget trials grow a little, since windows are
a share of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hotlap.job import Window
from hotlap.spoken import typed
from studies.budget import END_S, window_s
from studies.study_doubts import FEW_ROUNDS

SEARCHED = 4
"""Settings that the search should be able to try; with fewer there is hardly a best one."""

LEAST_S = 1.0
"""With less than that left no baseline is begun: it would be cut off before its first step."""

BASELINE, EXPERT, NUMERICS = 1, 1, 2
"""Trials, or what takes as long, that come before and with the search, and with the proof."""

TO_DO = {
    0: "try what an expert would set and to prove it",
    1: "try 1 setting and to prove it",
}
"""What a study with so few trials is for."""

MINUTES = (1, 2, 3, 5, 8, 10, 15, 20, 30, 45)
HOURS = (1, 1.5, 2, 3, 4, 6, 8, 12, 24, 48, 96, 168)
BUDGETS = (*((60 * m, f"{m}m") for m in MINUTES), *((3600 * h, f"{h:g}h") for h in HOURS))
"""Budgets as a person would type them, in seconds and in words; the last one for all above."""


@dataclass(frozen=True)
class TooShort:
    """What a budget is too short for.

    Attributes:
        sentence: In words.
        would_do: A budget that is long enough, as typed after `budget=`.
    """

    sentence: str
    would_do: str


def too_short(
    budget_s: float,
    spent_s: float,
    trial_s: float,
    prove: float,
    n_trials: int | None = None,
    max_rounds: int = FEW_ROUNDS,
) -> TooShort | None:
    """What the budget is too short for, and how much would do; None if it is long enough.

    Args:
        budget_s: The whole.
        spent_s: Until the first trial had ended.
        trial_s: Of that trial.
        prove: Share of the budget (0..1) that is kept for the proof.
        n_trials: So many are asked for, baseline and expert counted, if that is less than usual.
        max_rounds: The same for rounds.
    """
    asked = SEARCHED if n_trials is None else max(0, n_trials - BASELINE - EXPERT)
    searched = min(SEARCHED, asked)
    needs = (spent_s, prove, searched, min(FEW_ROUNDS, max_rounds))
    if _fits(budget_s, trial_s, *needs):
        return None
    would_do = _enough(budget_s, trial_s, *needs)
    return TooShort(
        f"a trial takes about {trial_s:.1f} s here: {_told(budget_s)} is too short to "
        f"{TO_DO.get(searched, f'try {searched} settings and to prove the best of them')}; "
        f"budget={would_do} would do",
        would_do,
    )


def no_baseline(budget_s: float, spent_s: float, left_s: float, prove: float) -> str:
    """What to say where the baseline itself did not end in `left_s`, and how much would do."""
    least_s = max(left_s, spent_s / 2)  # that a trial takes
    enough = _enough(budget_s, least_s, spent_s, prove, SEARCHED, FEW_ROUNDS)
    ended = f"the baseline did not end in the {left_s:.0f} s that were left"
    if left_s < LEAST_S:
        ended = "no time was left for the baseline"
    return (
        f"{_told(budget_s)} is too short: starting and the probe took {spent_s:.0f} s, and "
        f"{ended}. Nothing was found; at least budget={enough} would do"
    )


def as_typed(budget_s: float) -> str:
    """The shortest of `BUDGETS` with so many seconds, as typed after `budget=`."""
    return next((words for seconds, words in BUDGETS if seconds >= budget_s), BUDGETS[-1][1])


def _told(budget_s: float) -> str:
    return f"budget={typed(round(budget_s, 3))}s"


def _enough(
    budget_s: float, trial_s: float, spent_s: float, prove: float, searched: int, n_rounds: int
) -> str:
    for seconds, words in BUDGETS:
        longer_s = max(0.0, window_s(Window(), seconds)[1] - window_s(Window(), budget_s)[1])
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
