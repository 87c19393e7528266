"""Again: settings of the bank are proven once more, by the confirm stage alone."""

from __future__ import annotations

from hotlap.settings import Settings
from hotlap.spoken import interval
from studies.budget import Budget
from studies.confirm import Confirmed, confirm
from studies.entry import Entry
from studies.lab import Lab
from studies.plan import Plan
from studies.protocols import Trial
from studies.rounds import ENOUGH_ROUNDS, Exceeded, Rounds

ARM = "bank"
"""The settings' name among the arms of their proof."""

AGAIN_S = 120.0
AGAIN_SHARE = 0.2
"""They have two minutes, or what enough rounds of two arms need if that is more; never more than
this share of the budget, because a search may have to follow."""


def prove_again(
    lab: Lab,
    budget: Budget,
    plan: Plan,
    exceeded: Exceeded,
    arms: tuple[Settings, Settings, Settings],
    first: Trial,
) -> Confirmed:
    """Measure baseline, bank and expert in interleaved rounds.

    Args:
        lab: Measures settings.
        budget: The command's wall clock.
        plan: What the user says about the course.
        exceeded: A sentence for each limit that a measurement exceeds.
        arms: The baseline, the bank's settings, the expert's, which gives way if time is short.
        first: The baseline's first trial, which tells how long one takes.
    """
    typical_s = lab.typical_s(plan.repeat_s)
    most_s = max(AGAIN_S, 2 * ENOUGH_ROUNDS * typical_s)
    end_s = budget.spent() + min(most_s, AGAIN_SHARE * budget.seconds)
    rounds = Rounds(
        lab,
        "confirm",
        lambda: min(budget.left(), end_s - budget.spent()),
        plan.max_rounds,
        plan.seed,
        exceeded,
        max_s=plan.repeat_s,
        trial_s=typical_s,
    )
    return confirm(rounds, dict(zip(("baseline", ARM, "expert"), arms, strict=True)), first)


UNMEASURED = "they could not be measured"
"""For want of time, which tells nothing about them."""


def broken(hit: Entry, proof: Confirmed) -> str:
    """Why the bank's settings have not proven themselves again; empty if they have.

    They have if they are faster than the baseline beyond doubt, no slower than the best of the
    arms, and if their interval reaches the one that was promised.
    """
    arm = next((arm for arm in proof.arms if arm.settings.key() == hit.settings.key()), None)
    if arm is None:
        return UNMEASURED
    if arm.reasons:
        return arm.reasons[0]
    speedup, promised = arm.speedup(proof.baseline), hit.interval[0]
    measured = f"measured {speedup.value:.2f}x {interval(speedup)}"
    if speedup.low <= 1:
        return f"{measured}, which may be no gain"
    if speedup.high < promised:
        return f"{measured}, and {hit.speedup:.2f}x was proven before"
    if arm is not proof.winner and not proof.as_good(arm, proof.winner):
        return f"{proof.winner.name} is faster"
    return ""
