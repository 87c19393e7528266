"""Disproof: what fresh rounds say against settings that were proven before.

The bank's and an earlier session's keep their place by one rule (`stays`).

They speak against them if the settings fail or are refused, or if the whole interval lies below the
one that was promised. Want of time speaks against nobody: neither do a few rounds, whose interval
is wide or narrow by chance, nor numerics that nobody had time to compare. An interval that still
reaches the promised one is no disproof either, even where it reaches below 1.

In a study that goes on each session has its chance to find by luck what is not there, and settings
that are no better keep reaching a promise that was lucky: after ten sessions of equal settings 12
to 16 of 100 studies held a speedup. So there the rounds of both proofs are taken together
(studies/evidence.py), and have to lie above 1: then it is 2 to 4.
"""

from __future__ import annotations

from hotlap.settings import Settings
from hotlap.spoken import count, interval
from studies.arm import Arm
from studies.confirm import Confirmed
from studies.evidence import Evidence
from studies.gate import UNKNOWN
from studies.rounds import ENOUGH_ROUNDS

NONE = Evidence()


def disproof(proof: Confirmed, settings: Settings, promised: float, before: Evidence = NONE) -> str:
    """What a proof says against settings that were proven before; empty if nothing, or too little.

    Args:
        proof: The confirm rounds.
        settings: What was proven before.
        promised: The lower end of their speedup's interval then.
        before: The rounds that proved them; none where they do not count.
    """
    arm = proof.arm_of(settings)
    if arm is None:
        return ""
    if reasons := [reason for reason in arm.reasons if not reason.startswith(UNKNOWN)]:
        return reasons[-1]
    if not is_whole(arm, proof.baseline):
        return ""
    now = f"{measured(arm, proof.baseline)} now"
    if arm.speedup(proof.baseline).high < promised:
        return now
    both = (before + Evidence.of(arm, proof.baseline)).speedup
    if before.ratios and both.low <= 1:
        return f"{now}, {both.value:.2f}x {interval(both)} with those before"
    return ""


def stays(proof: Confirmed, settings: Settings, promised: float, before: Evidence = NONE) -> bool:
    """Whether settings that were proven before keep their place against what a proof has found.

    Args:
        proof: The confirm rounds.
        settings: What was proven before.
        promised: The lower end of their speedup's interval then.
        before: The rounds that proved them; none where they do not count.
    """
    winner, baseline = proof.winner, proof.baseline
    if disproof(proof, settings, promised, before):
        return False
    if not proof.found_better or settings.key() == winner.settings.key():
        return True
    beside = proof.arm_of(settings)
    if beside is not None and is_whole(beside, baseline):
        return proof.as_good(beside, winner)  # in the same rounds: nothing tells more
    # As among arms: what is better for sure. A few rounds' figure may be high by luck.
    return promised >= winner.speedup(baseline).low


def is_whole(arm: Arm, baseline: Arm) -> bool:
    """Whether an arm had the rounds of a whole proof, or lost them because it was beaten."""
    return arm.beaten or len(arm.ratios(baseline)) >= ENOUGH_ROUNDS


def measured(arm: Arm, baseline: Arm) -> str:
    """What the rounds measured, in words."""
    speedup = arm.speedup(baseline)
    rounds = count(len(arm.ratios(baseline)), "round")
    return f"{rounds} measured {speedup.value:.2f}x {interval(speedup)}"
