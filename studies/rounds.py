"""Rounds: several settings values measured against each other, fairly.

Arms run in fresh processes, interleaved over rounds, in a new random order each, so that in the
long run a drift of the machine meets all of them alike; for few rounds, which may have one order by
chance, the intervals make up (studies/arm.py). (Every second round backwards would cancel a steady
drift; but two such rounds are no longer independent, and a machine that slows and recovers every
40 s made a winner of nothing in 11 of 100 studies, where random orders keep to 3.)

A few rounds that agree may only have missed what the machine does now and then, such as one process
in five at half its speed. So narrow intervals end rounds only where the baseline's other runs, too,
say that so many rounds make them narrow.

Looking at the ratios after each round, and stopping as soon as one pleases, would find a
difference where there is none. So rounds end by the time, by their number, or when the intervals
are narrow, and none of these looks at who is ahead; an arm far behind is left out, which can only
lose it. Two rounds of a noisy machine put an arm behind by chance, so it is left out when that is
beyond doubt, or when the time is short for the others.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hotlap.measurement import Measurement
from hotlap.settings import Settings
from studies.arm import Arm
from studies.compiled import graph_of
from studies.lab import Lab
from studies.noise import FEW_REPEATS, Noise

NARROW = 0.02
"""Rounds end when each interval is so narrow (half width, as a share of the ratio)."""

ENOUGH_ROUNDS = 5
"""Never earlier for narrowness: three ratios that agree by chance look narrow too."""

BY_CHANCE = 2.0
"""Intervals are narrow by chance where the noise makes them so many times as wide as `NARROW`."""

BEHIND = 0.9
"""An arm that was so far behind the leader in each of its rounds may be left out."""

CHANCE = 0.005
"""How often one that is just so far behind may be left out after a round; there are several rounds
and several arms, and the one that leads does so by its luck too."""

Exceeded = Callable[[Measurement], Sequence[str]]
"""A sentence for each limit that a measurement exceeds."""


@dataclass(frozen=True)
class Rounds:
    """How rounds go.

    Attributes:
        lab: Measures settings.
        kind: Of the trials: "confirm", "ablate", ...
        left: Seconds that are left for these rounds; no round begins that could not end in them.
        max_rounds: The most rounds.
        seed: Of the order within rounds.
        exceeded: An arm of which it has something to say cannot win.
        behind_rounds: So many rounds an arm takes part in before it may be left out.
        kept_s: Seconds of these that what comes after the rounds needs. The first round may take
            them all the same: it tells what a round takes, and without one there is nothing after.
        noise: Of the machine, as far as it is known before the rounds.
    """

    lab: Lab
    kind: str
    left: Callable[[], float]
    max_rounds: int
    seed: int = 0
    exceeded: Exceeded = lambda measurement: ()
    behind_rounds: int = 2
    kept_s: float = 0.0
    noise: Noise = Noise(0)

    def round_s(self, arms: Iterable[Arm]) -> float:
        """Wall clock that a round of these arms is expected to take; 0 if nobody knows.

        The first one takes `cold_s` longer.
        """
        return sum(self.lab.expected_s(arm.settings) for arm in arms)

    def cold_s(self, settings: Iterable[Settings]) -> float:
        """What compiling each graph of these that is not on disk is expected to take, once.

        Not what an earlier session's trials, by which they are expected to take their time, may
        have taken for it.
        """
        more_s: dict[object, float] = {}
        for one in settings:
            if compile_s := self.lab.compiled.cold_s(one):
                first_s = self.lab.typical_s() + compile_s
                more_s[graph_of(one)] = max(0.0, first_s - self.lab.expected_s(one))
        return sum(more_s.values())

    def n_fitting(self, arms: Sequence[Arm], seconds: float) -> int:
        """How many rounds of these arms fit into `seconds`; all of them if nobody knows."""
        round_s = self.round_s(arms)
        if not round_s:
            return self.max_rounds
        warm_s = seconds - self.cold_s(arm.settings for arm in arms)
        return max(0, int(min(self.max_rounds, warm_s / round_s)))

    def run(self, arms: Sequence[Arm], reference: Arm) -> int:
        """Measure `arms`, among them the `reference` that they are divided by.

        Returns:
            How many rounds were done; the trials are in the arms.
        """
        chance = random.Random(self.seed)
        order = list(arms)
        n_rounds = 0
        while n_rounds < self.max_rounds:
            if n_rounds and self._left(n_rounds) < self.round_s(order):
                break
            chance.shuffle(order)
            for arm in order:
                self.measure(arm, n_rounds, reference)
            n_rounds += 1
            running = self._still_running(order, reference, n_rounds)
            for arm in (arm for arm in order if arm not in running):
                why = arm.reasons[-1] if arm.reasons else "it is far behind"
                self.lab.note(f"{arm.name} is left out of further rounds: {why}")
            order = running
            if order == [reference] and len(arms) > 1:
                break  # nobody is left to be compared
            narrow = all(arm is reference or _is_narrow(arm, reference) for arm in order)
            if n_rounds >= ENOUGH_ROUNDS and narrow and self._may_be_narrow(n_rounds, reference):
                break
        return n_rounds

    def measure(self, arm: Arm, n_rounds: int, reference: Arm) -> None:
        """Measure an arm once, in the round after `n_rounds`, if there is time.

        Whatever bars it is noted in its reasons. The `reference` can neither win nor lose; and a
        trial that was cut off, or whose server failed, bars nobody.
        """
        left_s = self._left(n_rounds)
        if left_s <= 0:
            return
        trial = self.lab.measure(self.kind, arm.settings, left_s)
        arm.trials[n_rounds] = trial
        if arm is reference or trial.ran_out or trial.run.outside:
            return
        if trial.run.outcome != "ok":
            # What fails once in a few runs is nothing to freeze for a long one.
            arm.reasons.append(f"{trial.run.outcome} in round {n_rounds + 1}: {trial.run.reason}")
        elif exceeded := self.exceeded(trial.run.measurement):
            arm.reasons.append(f"in round {n_rounds + 1} {'; '.join(exceeded)}")

    def _may_be_narrow(self, n_rounds: int, reference: Arm) -> bool:
        """Whether so many rounds are narrow by the noise, or nobody knows it."""
        if self.noise.n < FEW_REPEATS:
            return True
        half = self.noise.smallest_effect(n_rounds, reference.n_compared)
        return half <= BY_CHANCE * NARROW and not self.noise.modes

    def _left(self, n_rounds: int) -> float:
        """Seconds that are left for the round after `n_rounds`, and for those that follow it."""
        return self.left() - (self.kept_s if n_rounds else 0.0)

    def _still_running(self, arms: Sequence[Arm], reference: Arm, n_rounds: int) -> list[Arm]:
        able = [arm for arm in arms if arm is reference or not arm.reasons]
        leader = max(able, key=lambda arm: arm.speedup(reference).value)
        n_more = min(ENOUGH_ROUNDS, self.max_rounds) - n_rounds
        short = self._left(n_rounds) < self.round_s(able) * n_more

        def lost(arm: Arm) -> bool:
            ratios = arm.ratios(leader)
            if len(ratios) < self.behind_rounds or max(ratios) >= BEHIND:
                return False
            arm.beaten = _beyond_doubt(arm, leader, able)
            return short or arm.beaten

        return [arm for arm in able if arm is reference or not lost(arm)]


def _beyond_doubt(arm: Arm, leader: Arm, arms: Sequence[Arm]) -> bool:
    """Whether the arm is that far behind, by the spread that all arms show together.

    Two ratios alone say next to nothing of their spread. Arms on one machine share it, so their
    variances are pooled, as in an analysis of variance.
    """
    from scipy.special import stdtrit  # scipy takes a while to import

    logs = [[math.log(ratio) for ratio in one.ratios(leader)] for one in arms if one is not leader]
    several = [of_one for of_one in logs if len(of_one) > 1]
    degrees = sum(len(of_one) - 1 for of_one in several)
    if not degrees:
        return False
    variance = sum((len(x) - 1) * statistics.variance(x) for x in several) / degrees
    own = [math.log(ratio) for ratio in arm.ratios(leader)]
    half = float(stdtrit(degrees, 1 - CHANCE)) * math.sqrt(variance / len(own))
    return statistics.fmean(own) + half < math.log(BEHIND)


def _is_narrow(arm: Arm, reference: Arm) -> bool:
    return arm.speedup(reference).precision <= NARROW
