"""Confirm: the best few, the baseline and the expert, measured again against each other.

Arms run in fresh processes, interleaved in random order over rounds, so that a drift of the
machine meets all of them alike; the speedup is the geometric mean of each round's ratio to the
baseline of that round, with Student's interval on the logarithms. Only these fresh measurements
are quoted: the best of many noisy trials looks better than it is (the winner's curse).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from hotlap.errors import StudyFailed
from hotlap.measurement import Rate, t_quantile
from hotlap.settings import Settings
from studies.budget import Budget
from studies.lab import Lab
from studies.protocols import Trial

CLEAR = 0.02
"""Rounds end when the best arm's interval is so narrow (half width, as a share of the speedup)."""

MIN_ROUNDS = 3
BEHIND = 0.9
"""An arm so far behind the leading one after a round is not measured again."""


@dataclass
class Arm:
    """One settings value through the rounds.

    Attributes:
        name: "baseline", "expert" or "trial 7".
        settings: What it stands for.
        trials: Its trial in each round it took part in, by round.
    """

    name: str
    settings: Settings
    trials: dict[int, Trial] = field(default_factory=dict)

    def rates(self) -> dict[int, float]:
        """Its value in each round in which it ended well."""
        return {r: t.value for r, t in self.trials.items() if t.run.outcome == "ok"}

    def rate(self) -> Rate:
        """Its value over the rounds with a 95 % interval."""
        return log_interval(list(self.rates().values()))

    def speedup(self, baseline: Arm) -> Rate:
        """Its ratio to the baseline's value of the same round, with a 95 % interval."""
        theirs = baseline.rates()
        return log_interval([v / theirs[r] for r, v in self.rates().items() if r in theirs])


@dataclass(frozen=True)
class Confirmed:
    """The answer of the confirm stage.

    Attributes:
        arms: All arms, the baseline first.
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
) -> Confirmed:
    """Measure `arms` (name -> settings, "baseline" among them) in rounds until the answer is clear.

    Args:
        lab: Measures settings.
        arms: What to compare. Equal settings are measured once, under the first name.
        budget: The command's wall clock; no round begins that could not end within it.
        keep: Share of the budget that later stages need.
        max_rounds: The most rounds.
        seed: Of the order within rounds.

    Raises:
        StudyFailed: The baseline ended well in no round.
    """
    order = random.Random(seed)
    all_arms = _distinct(arms)
    baseline = all_arms[0]
    running = list(all_arms)
    longest_s = 0.0
    n_rounds = 0
    while n_rounds < max_rounds and len(running) > 1:
        if n_rounds and budget.left(keep) < longest_s * len(running):
            break
        order.shuffle(running)
        for arm in running:
            left = budget.left(keep)
            if left <= 0:
                break
            trial = lab.measure("confirm", arm.settings, left)
            arm.trials[n_rounds] = trial
            longest_s = max(longest_s, trial.run.wall_s)
        n_rounds += 1
        if budget.left(keep) <= 0 or _is_clear(all_arms, n_rounds):
            break
        running = _still_running(running, baseline)
    measured = [arm for arm in all_arms if arm.rates()]
    if baseline not in measured:
        raise StudyFailed(
            "the baseline could not be measured again: "
            + (next((t.run.reason for t in baseline.trials.values()), "no time was left"))
            + "; give the study more time, e.g. budget=20m, with resume=<its folder>"
        )
    return Confirmed(measured, _winner(measured), n_rounds)


def log_interval(values: list[float]) -> Rate:
    """Geometric mean of positive `values` with Student's 95 % interval on their logarithms."""
    if not values:
        return Rate(0.0, 0.0, math.inf)
    logs = [math.log(v) for v in values]
    mean = sum(logs) / len(logs)
    if len(logs) == 1:
        return Rate(math.exp(mean), 0.0, math.inf)
    variance = sum((x - mean) ** 2 for x in logs) / (len(logs) - 1)
    half = t_quantile(len(logs) - 1) * math.sqrt(variance / len(logs))
    return Rate(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def _distinct(arms: Mapping[str, Settings]) -> list[Arm]:
    found: dict[object, Arm] = {}
    names = ["baseline", *(name for name in arms if name != "baseline")]
    for name in names:
        found.setdefault(arms[name].key(), Arm(name, arms[name]))
    return list(found.values())


def _is_clear(arms: list[Arm], n_rounds: int) -> bool:
    if n_rounds < MIN_ROUNDS:
        return False
    winner = _winner(arms)
    if winner is not arms[0]:
        return winner.speedup(arms[0]).precision <= CLEAR
    return all(arm.speedup(arms[0]).precision <= CLEAR for arm in arms[1:])


def _still_running(arms: list[Arm], baseline: Arm) -> list[Arm]:
    leader = max(arm.speedup(baseline).value for arm in arms)
    return [a for a in arms if a is baseline or a.speedup(baseline).value >= BEHIND * leader]


def _winner(arms: list[Arm]) -> Arm:
    baseline = arms[0]
    proven = [arm for arm in arms[1:] if arm.speedup(baseline).low > 1]
    return max(proven, key=lambda arm: arm.speedup(baseline).low, default=baseline)
