"""Confirm: the best few, the baseline and the expert, measured again against each other.

Arms run in fresh processes, interleaved over rounds, in a new random order each, so that a drift
of the machine meets all of them alike. (Every second round backwards would cancel a steady drift;
but two such rounds are no longer independent, and a machine that slows and recovers every 40 s
made a winner of nothing in 11 of 100 studies, where random orders keep to 3.) Only these fresh
measurements are quoted: the best of many noisy trials looks better than it is (winner's curse).

Looking at the speedups after each round, and stopping as soon as one pleases, would find a
speedup where there is none. So rounds end by the time, by their number, or when the intervals are
narrow, and none of these looks at who is ahead; an arm far behind is left out, which can only
lose it. The one decision is made at the end: an arm wins if its interval (see studies/arm.py) lies
above 1. With equal settings in all arms that happens in 2.5 of 100 studies.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hotlap.errors import StudyFailed
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from studies.arm import Arm
from studies.budget import Budget
from studies.lab import Lab
from studies.protocols import Trial

NARROW = 0.02
"""Rounds end when each interval is so narrow (half width, as a share of the speedup)."""

ENOUGH_ROUNDS = 5
"""Never earlier for narrowness: three ratios that agree by chance look narrow too."""

BUSY = 0.1
"""Above this share of the CPU, others' work decides too."""

FEW_ROUNDS = 4
"""Fewer ratios than that have an interval that hardly ever lies above 1 (Student's t)."""

BEHIND = 0.9
"""An arm that was so far behind the leader in each of its rounds is not measured again."""

BEHIND_ROUNDS = 2

ALONE_ROUNDS = 2
"""Where there is nothing to compare, the baseline is measured for its own rate and the doubt."""


@dataclass(frozen=True)
class Confirmed:
    """The answer of the confirm stage.

    Attributes:
        arms: All arms that were measured, the baseline first.
        winner: The arm with the best lower bound above 1, or the baseline.
        n_rounds: Rounds done.
    """

    arms: list[Arm]
    winner: Arm
    n_rounds: int

    @property
    def found_better(self) -> bool:
        """Whether an arm is proven faster than the baseline."""
        return self.winner is not self.arms[0]

    @property
    def doubts(self) -> list[str]:
        """Sentences that say what limits the answer; none if nothing does."""
        said = [f"{arm.name} could not win: {why}" for arm in self.arms for why in arm.reasons]
        trials = [trial for arm in self.arms for trial in arm.trials.values()]
        shares = [t.run.measurement.other_cpu_share for t in trials if t.run.outcome == "ok"]
        if shares and (share := statistics.median(shares)) > BUSY:
            said.append(
                f"others used {share:.0%} of this machine's CPU meanwhile; the figures hold for a "
                "machine as busy as that, and the best settings for a quiet one may be others"
            )
        best, baseline = self.best_tried, self.arms[0]
        more = "go on with resume=<folder> and a larger budget="
        if self.n_rounds == 0:
            said.append(f"there was no time to prove anything; {more}")
        elif best is not self.winner and self.n_rounds < FEW_ROUNDS:
            if best.speedup(baseline).value > 1:
                said.append(
                    f"only {self.n_rounds} rounds fitted into the time, too few to prove that "
                    f"{best.name} is faster; {more}"
                )
        return said

    @property
    def best_tried(self) -> Arm:
        """The winner, or the arm that came closest to beating the baseline; else the baseline."""
        if self.found_better:
            return self.winner
        baseline, *others = self.arms
        return max(others, key=lambda arm: arm.speedup(baseline).value, default=baseline)


def confirm(
    lab: Lab,
    arms: Mapping[str, Settings],
    budget: Budget,
    keep: float,
    max_rounds: int,
    seed: int = 0,
    violations: Callable[[Measurement], Sequence[float]] = lambda measurement: (),
    known: Trial | None = None,
) -> Confirmed:
    """Measure `arms` (name -> settings, "baseline" among them) in rounds.

    Args:
        lab: Measures settings.
        arms: What to compare, the most promising first. Equal settings are measured once, under
            the first name. If the time is short, the last ones are left out.
        budget: The command's wall clock; no round begins that could not end within it.
        keep: Share of the budget that later stages need.
        max_rounds: The most rounds.
        seed: Of the order within rounds.
        violations: By how much a measurement breaks each limit; an arm above 0 cannot win.
        known: The baseline's trial of the search; it stands for the rounds where there is no time
            for a single one, and then nothing can be proven.

    Raises:
        StudyFailed: The baseline ended well in no round.
    """
    chance = random.Random(seed)
    everyone = _affordable(_distinct(arms), budget.left(keep), lab.typical_s)
    baseline = everyone[0]
    for arm in everyone:
        arm.n_compared = max(1, len(everyone) - 1)
    order = list(everyone)
    n_rounds = 0
    if known is not None and budget.left(keep) < lab.typical_s:
        baseline.trials[0] = known
        return Confirmed([baseline], baseline, 0)
    while n_rounds < (max_rounds if len(order) > 1 else min(max_rounds, ALONE_ROUNDS)):
        if n_rounds and budget.left(keep) < sum(arm.longest_s for arm in order):
            break
        chance.shuffle(order)
        for arm in order:
            _measure(lab, arm, n_rounds, budget.left(keep), violations)
        n_rounds += 1
        order = _still_running(order, baseline)
        if n_rounds >= ENOUGH_ROUNDS and all(_is_narrow(arm, baseline) for arm in order):
            break
    if not baseline.rates() and known is not None:
        baseline.trials[-1] = known
    if not baseline.rates():
        raise StudyFailed(_unproven(baseline))
    measured = [arm for arm in everyone if arm.rates()]
    return Confirmed(measured, _winner(measured), n_rounds)


def _measure(
    lab: Lab,
    arm: Arm,
    n_rounds: int,
    left_s: float,
    violations: Callable[[Measurement], Sequence[float]],
) -> None:
    if left_s <= 0:
        return
    trial = arm.trials[n_rounds] = lab.measure("confirm", arm.settings, left_s)
    if trial.run.outcome != "ok" and not trial.ran_out:
        # What fails once in a few runs is nothing to freeze for a long one.
        arm.reasons.append(f"{trial.run.outcome} in round {n_rounds + 1}: {trial.run.reason}")
    elif max(violations(trial.run.measurement), default=0.0) > 0:
        arm.reasons.append(f"it broke a limit in round {n_rounds + 1}")


def _distinct(arms: Mapping[str, Settings]) -> list[Arm]:
    found: dict[object, Arm] = {}
    for name in ["baseline", *(name for name in arms if name != "baseline")]:
        found.setdefault(arms[name].key(), Arm(name, arms[name]))
    return list(found.values())


def _affordable(arms: list[Arm], seconds: float, trial_s: float) -> list[Arm]:
    """The baseline and as many others as can have enough rounds in the time.

    One at the least, unless there is no time for a single comparison. The expert is the yardstick,
    and gives way only where there is time for the best one alone.
    """
    if trial_s <= 0:
        return arms
    baseline, *others = arms
    if seconds < 2 * trial_s:
        return [baseline]
    n = max(1, int(seconds / (ENOUGH_ROUNDS * trial_s)) - 1)
    if n >= len(others):
        return arms
    trials = [arm for arm in others if arm.name != "expert"]
    experts = [arm for arm in others if arm.name == "expert"]
    if n == 1:
        return [baseline, *(trials or experts)[:1]]
    return [baseline, *trials[: n - len(experts)], *experts]


def _still_running(arms: list[Arm], baseline: Arm) -> list[Arm]:
    able = [arm for arm in arms if arm is baseline or not arm.reasons]
    leader = max(able, key=lambda arm: arm.speedup(baseline).value)
    return [arm for arm in able if arm is baseline or not _lost(arm, leader)]


def _lost(arm: Arm, leader: Arm) -> bool:
    ratios = arm.ratios(leader)
    return len(ratios) >= BEHIND_ROUNDS and max(ratios) < BEHIND


def _is_narrow(arm: Arm, baseline: Arm) -> bool:
    return arm is baseline or arm.speedup(baseline).precision <= NARROW


def _winner(arms: list[Arm]) -> Arm:
    baseline, *others = arms
    proven = [arm for arm in others if not arm.reasons and arm.speedup(baseline).low > 1]
    return max(proven, key=lambda arm: arm.speedup(baseline).low, default=baseline)


def _unproven(baseline: Arm) -> str:
    reason = next((t.run.reason for t in baseline.trials.values()), "no time was left")
    return (
        f"the baseline could not be measured again: {reason}; give the study more time, e.g. "
        "budget=20m, with resume=<its folder>"
    )
