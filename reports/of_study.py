"""From what a study has found to what the reports show.

Rooms do not import each other: `found` is a studies.Found, taken as it is.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from hotlap.measurement import Ratio
from hotlap.settings import Settings
from reports.arm import Arm
from reports.contribution import Contribution, Refusal
from reports.result import Result
from reports.text import times


def result_of(found: Any, expert: Settings | None, objective: str, **more: Any) -> Result:
    """The result of a study.

    Args:
        found: What the course has found (studies.Found).
        expert: The expert's settings; None if a recorded table does not have them.
        objective: Its name: throughput or run_time.
        more: The other attributes of `Result`.
    """
    proof = found.proof
    timed = objective == "run_time"
    best = proof.best_tried
    by_hand = None if expert is None else expert.key()
    return Result(
        baseline=_arm(proof.baseline, proof, timed, found.diagnoses.get("baseline")),
        winner=_arm(best, proof, timed, found.diagnoses.get("winner")),
        expert=next(
            (_arm(a, proof, timed) for a in proof.arms if a.settings.key() == by_hand), None
        ),
        no_expert=_no_expert(found, expert),
        late=_late(proof, by_hand),
        contributions=tuple(_contribution(c, proof, timed) for c in found.contributions),
        noise=_capital(
            found.noise.sentence(
                0 if best is proof.baseline else len(best.ratios(proof.baseline)),
                best.n_compared,
                _doubt(best, proof),
                proof.found_better,
            )
        ),
        uncompared=proof.uncompared,
        together=found.together or (),
        diagnosis={name: diagnosis.sentence for name, diagnosis in found.diagnoses.items()},
        searched=found.searched,
        searched_of=found.searched_of,
        refused=tuple(Refusal(name, why) for name, why in found.refused),
        objective=objective,
        **more,
    )


def _no_expert(found: Any, expert: Settings | None) -> str:
    """Why the expert has no row of its own, a sentence; empty if it has one, or if no arm has."""
    if expert is None:
        return "Expert: its settings are not in the table."
    proof = found.proof
    if expert.key() == proof.baseline.settings.key():
        return "Expert: the same as the baseline here."
    arm = proof.arm_of(expert)
    if proof.uncompared or (arm is not None and (arm.rates() or arm.reasons)):
        return ""
    seen = f" ({times(found.expert_searched)} in the search)" if found.expert_searched else ""
    return _unseen(f"The expert's settings{seen}", arm)


def _late(proof: Any, by_hand: object) -> tuple[str, ...]:
    """A sentence for each other arm that has no row, and that nothing speaks against."""
    if proof.uncompared:
        return ()
    late = (a for a in proof.failed if not a.reasons and a.settings.key() != by_hand)
    return tuple(_unseen(arm.name.capitalize(), arm) for arm in late)


def _unseen(who: str, arm: Any) -> str:
    # Cut off, or never begun; what else bars nobody is a server that failed.
    if arm is None or all(trial.ran_out for trial in arm.trials.values()):
        return f"{who} had no time in the proof."
    return f"{who} ended well in no round of the proof: {arm.fault}."


def _arm(arm: Any, proof: Any, timed: bool, diagnosis: Any = None) -> Arm:
    measured = [t.run.measurement for t in arm.trials.values() if t.run.outcome == "ok"]
    compared = arm is not proof.baseline and arm.ratios(proof.baseline)
    speedup = Ratio.of(arm.speedup(proof.baseline)) if compared else None
    run_time = arm.rate() if timed else None
    shown = Arm.of(arm.settings, arm.throughput(), measured, speedup, run_time=run_time)
    shown = replace(shown, barred="; ".join(arm.reasons))
    return shown if diagnosis is None else shown.with_sides(diagnosis)


def _contribution(c: Any, proof: Any, timed: bool) -> Contribution:
    ours, theirs = c.whole.settings, c.without.settings
    values = tuple(getattr(ours, name) for name in c.settings)
    defaults = tuple(getattr(theirs, name) for name in c.settings)
    alone = len(values) == 1
    return Contribution(
        setting=" + ".join(c.settings),
        value=values[0] if alone else values,
        default=defaults[0] if alone else defaults,
        ratio=Ratio.of(c.ratio),
        kept=c.kept,
        reason=c.reason,
        without=_arm(c.without, proof, timed) if c.without.rates() else None,
        whole=_arm(c.whole, proof, timed),
        of_proof=c.without is proof.baseline,
    )


def _doubt(best: Any, proof: Any) -> float | None:
    """The half width of these rounds' own interval, as a share; None where it has no ends."""
    speedup = best.speedup(proof.baseline)
    if best is proof.baseline or not speedup.known:
        return None
    return math.sqrt(speedup.high / speedup.low) - 1


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
