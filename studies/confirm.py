"""Confirm: the best few, the baseline and the expert, measured again against each other.

Only these fresh measurements are quoted: the best of many noisy trials looks better than it is
(winner's curse). How the rounds go: studies/rounds.py.

The one decision is made at the end: an arm wins if its interval (see studies/arm.py) lies above 1.
With equal settings in all arms that happens in 2.5 of 100 studies.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hotlap.errors import StudyFailed
from hotlap.settings import Settings
from studies.arm import Arm
from studies.changes import differing
from studies.doubt import more_time
from studies.noise import LEAST_ROUNDS
from studies.power import Power
from studies.protocols import Trial
from studies.rounds import ENOUGH_ROUNDS, NARROW, Rounds

ROOMY_ROUNDS = 12
"""Who has so many rounds gains little by more of them: twice as many are a third narrower. What the
search found may be no better than the baseline, only luckier than the next best."""

USUAL = 0.05
"""The order of what useful settings bring, as a logarithm."""

SELDOM = 0.025
"""The same of those of which the ablation's rounds have shown nothing."""

ALONE_ROUNDS = 2
"""Where there is nothing to compare, the baseline is measured for its own rate and the doubt."""


@dataclass(frozen=True)
class Confirmed:
    """The answer of the confirm stage.

    Attributes:
        arms: All arms that were measured, the baseline first.
        n_rounds: Rounds done.
        capped: Whether they ended because no more were allowed (`confirm.max_rounds`).
        failed: Arms that ended well in no round; they have no rate to be compared by. Those that
            were refused before the rounds, or for which no time was left, have no trials either.
        n_wanted: So many arms were to be compared with the baseline, had there been time for all.
        dropped: Settings, each with its value, of which the ablation's rounds have shown nothing.
    """

    arms: list[Arm]
    n_rounds: int
    capped: bool = False
    failed: tuple[Arm, ...] = ()
    n_wanted: int = 0
    dropped: frozenset[tuple[str, object]] = frozenset()

    @property
    def uncompared(self) -> str:
        """Why no round could be compared; empty if one could, or if there was nothing to."""
        baseline, *others = self.arms
        if not self.n_wanted or any(arm.ratios(baseline) for arm in others):
            return ""
        if not others and not any(arm.trials for arm in self.failed):
            return "there was no time to measure anything beside the baseline"
        in_none = "the one round" if self.n_rounds == 1 else f"any of {self.n_rounds} rounds"
        ended = [f"{arm.name}: {arm.fault}" for arm in (*self.arms, *self.failed) if arm.fault]
        faults = f" ({'; '.join(ended)})" if ended else ""
        return f"baseline and another arm did not both end well in {in_none}{faults}"

    @property
    def baseline(self) -> Arm:
        """What the others are compared with."""
        return self.arms[0]

    @property
    def winner(self) -> Arm:
        """The arm with the best lower bound above 1, or the baseline.

        If another proven arm changes only some of its settings, be it to other values, and is as
        good (`as_good`), it wins: what can be left out shall be. An arm that was given a
        reason against it meanwhile cannot.
        """
        baseline, *others = self.arms
        proven = [arm for arm in others if not arm.reasons and arm.speedup(baseline).low > 1]
        best = max(proven, key=lambda arm: arm.speedup(baseline).low, default=baseline)
        changes = {arm.name: _changes(arm, baseline) for arm in proven}
        fewer = [
            arm
            for arm in proven
            if changes[arm.name] < changes[best.name] and self.as_good(arm, best)
        ]
        return min(fewer, key=lambda arm: len(changes[arm.name]), default=best)

    def arm_of(self, settings: Settings) -> Arm | None:
        """The arm of these settings, also one that ended well in no round; None without one."""
        arms = (*self.arms, *self.failed)
        return next((arm for arm in arms if arm.settings.key() == settings.key()), None)

    def as_good(self, arm: Arm, best: Arm) -> bool:
        """Whether the arm took part as long as the best one, and is expected to lose little to it.

        What the best one has beside it is taken to bring something of the order of `USUAL`, or of
        `SELDOM` where the ablation has dropped all of that; few settings bring anything, so their
        number does not count. The mean of such a normal variable is what the rounds say, the less
        of it the wider they scatter. The best one of several is ahead of the others by luck, too.
        """
        logs = [math.log(ratio) for ratio in best.ratios(arm)]
        if not logs or len(arm.rates()) < len(best.rates()) or arm.over(best).high < 1:
            return False
        doubt = statistics.variance(logs) / len(logs) if len(logs) > 1 else 0.0
        more = _changes(best, self.baseline) - _changes(arm, self.baseline)
        is_dropped = all((name, getattr(best.settings, name)) in self.dropped for name in more)
        order = SELDOM if is_dropped else USUAL
        return statistics.fmean(logs) * order**2 / (order**2 + doubt) <= math.log1p(NARROW)

    @property
    def found_better(self) -> bool:
        """Whether an arm is proven faster than the baseline."""
        return self.winner is not self.baseline

    @property
    def best_tried(self) -> Arm:
        """The winner, or the arm that came closest to beating the baseline; else the baseline."""
        if self.found_better:
            return self.winner
        baseline, *others = self.arms
        able = [arm for arm in others if not arm.reasons] or others
        return max(able, key=lambda arm: arm.speedup(baseline).value, default=baseline)


def confirm(
    rounds: Rounds,
    arms: Mapping[str, Settings],
    known: Trial | None = None,
    power: Power | None = None,
) -> Confirmed:
    """Measure `arms` (name -> settings, "baseline" among them) in rounds.

    Args:
        rounds: How the rounds go, and how long.
        arms: What to compare, the most promising first. Equal settings are measured once, under
            the first name. If the time is short, the last ones are left out.
        known: A trial of the baseline. Where the time is too short for a round of it and any other
            arm, the most promising one that fits alone is compared with it, or with less time none;
            neither can prove anything.
        power: What is to be shown; None where nobody has an idea of it.

    Raises:
        StudyFailed: The baseline ended well in no round.
    """
    wanted = distinct(arms, rounds.lab.sign)
    n_wanted = len(wanted) - 1
    everyone = affordable(
        wanted,
        rounds,
        rounds.left(),
        power,
        # The first round may take it all the same (see Rounds).
        kept_s=lambda some: rounds.kept_s if len(some) > 2 else 0.0,
    )
    baseline = everyone[0]
    for arm in everyone:
        arm.n_compared = max(1, len(everyone) - 1)
    if len(everyone) == 1:
        if known is not None and (n_wanted or not rounds.n_fitting(everyone, rounds.left())):
            return _beside(known, wanted, rounds)
        rounds = replace(rounds, max_rounds=min(rounds.max_rounds, ALONE_ROUNDS))
    n_rounds = rounds.run(everyone, baseline)
    capped = len(everyone) > 1 and n_rounds >= rounds.max_rounds
    if not baseline.rates() and known is not None:
        baseline.trials[-1] = known
    if not baseline.rates():
        raise StudyFailed(_unproven(baseline, rounds.lab.folder))
    failed = tuple(arm for arm in everyone if not arm.rates())
    arms_left = [arm for arm in everyone if arm.rates()]
    return Confirmed(arms_left, n_rounds, capped, failed, n_wanted)


def _beside(known: Trial, wanted: list[Arm], rounds: Rounds) -> Confirmed:
    """The first arm for which there is time, beside the baseline's `known` trial."""
    baseline, *others = wanted
    baseline.trials[0] = known
    arm = next((arm for arm in others if rounds.n_fitting([arm], rounds.left())), None)
    if arm is None:
        return Confirmed([baseline], 0, n_wanted=len(others))
    rounds.measure(arm, 0, baseline)
    if not arm.rates():
        return Confirmed([baseline], 1, failed=(arm,), n_wanted=len(others))
    return Confirmed([baseline, arm], 1, n_wanted=len(others))


def distinct(arms: Mapping[str, Settings], sign: int) -> list[Arm]:
    """The baseline and the others in their order, equal settings once, under the first name."""
    found: dict[object, Arm] = {}
    for name in ["baseline", *(name for name in arms if name != "baseline")]:
        found.setdefault(arms[name].key(), Arm(name, arms[name], sign=sign))
    return list(found.values())


def affordable(
    arms: Sequence[Arm],
    rounds: Rounds,
    seconds: float,
    power: Power | None = None,
    roomy: float = ROOMY_ROUNDS,
    kept_s: Callable[[Sequence[Arm]], float] = lambda arms: 0.0,
) -> list[Arm]:
    """The baseline and those of the others that are worth their share of the time.

    The first one is, if there is time for a single comparison. Each further one is if all of them
    can then have enough rounds, and if so many rounds can still show what is to be shown, or are
    many; where no more of them are allowed anyway, it takes none of the others'. Fewer are enough
    where they show it for sure, and are more than `LEAST_ROUNDS`: what trials take is only
    expected, and a proof that is one round short of these shows nothing, where fewer arms had.

    Args:
        arms: The baseline, then the others, the most promising first.
        rounds: What they are for.
        seconds: For all the rounds together, and for what else these arms need.
        power: What is to be shown; None for whatever there is.
        roomy: So many rounds are worth their while whatever they can show.
        kept_s: What else they need, such as the time to judge them.
    """
    taken = list(arms[:1])
    for arm in arms[1:]:
        some = [*taken, arm]
        n_rounds = rounds.n_fitting(some, seconds - kept_s(some))
        if len(taken) == 1:
            worth = n_rounds >= 1
        elif power is None:
            worth = n_rounds >= min(ENOUGH_ROUNDS, rounds.max_rounds)
        else:
            many = n_rounds >= min(roomy, rounds.max_rounds)
            shows = power.shows if n_rounds >= ENOUGH_ROUNDS else power.surely_shows
            worth = many or (n_rounds > LEAST_ROUNDS and shows(n_rounds, len(taken)))
        if worth:
            taken.append(arm)
    return taken


def _changes(arm: Arm, baseline: Arm) -> set[str]:
    return set(differing(arm.settings, baseline.settings))


def _unproven(baseline: Arm, folder: Path) -> str:
    reason = baseline.fault or "no time was left"
    return (
        f"the baseline could not be measured again: {reason}; {more_time(folder)}, such as "
        "budget=20m"
    )
