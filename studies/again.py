"""Again: settings of the bank are proven once more, by the confirm stage alone."""

from __future__ import annotations

from hotlap.settings import Settings
from studies.budget import Budget
from studies.confirm import Confirmed, confirm
from studies.disproof import disproof, measured
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
    most_s = max(AGAIN_S, 2 * ENOUGH_ROUNDS * lab.typical_s())
    end_s = budget.spent() + min(most_s, AGAIN_SHARE * budget.seconds)
    rounds = Rounds(
        lab,
        "confirm",
        lambda: min(budget.left(), end_s - budget.spent()),
        plan.max_rounds,
        plan.seed,
        exceeded,
    )
    return confirm(rounds, dict(zip(("baseline", ARM, "expert"), arms, strict=True)), first)


UNMEASURED = "they could not be measured"
"""For want of time, which tells nothing about them."""

VERDICTS = {
    True: "have proven themselves again",
    False: "do not prove themselves again ({}); an ordinary search follows",
    None: "are neither proven again nor refuted ({}); an ordinary search follows",
}
"""What a verdict says of the bank's settings, with its reason."""


def verdict(hit: Entry, proof: Confirmed) -> tuple[bool | None, str]:
    """Whether the bank's settings have proven themselves again, and why not.

    They have if they are faster than the baseline beyond doubt, if their interval reaches the one
    that was promised, and if nothing else in the rounds is better.

    Returns:
        True, or False if the rounds speak against them (see studies/disproof.py), or None if they
        tell too little or something else seems better; and the reason unless it is True.
    """
    arm, baseline, winner = proof.arm_of(hit.settings), proof.baseline, proof.winner
    if arm is None or not (arm.reasons or arm.ratios(baseline)):
        return None, UNMEASURED
    promised = hit.interval[0]
    if against := disproof(proof, hit.settings, promised):
        return False, against
    if arm.reasons:
        return None, arm.reasons[-1]
    speedup = arm.speedup(baseline)
    best = arm is winner or (proof.found_better and proof.as_good(arm, winner))
    if best and speedup.low > 1 and speedup.high >= promised:
        return True, ""
    if proof.found_better and not best:
        return None, f"{winner.name} seems faster"
    return None, f"{measured(arm, baseline)}, which says too little"
