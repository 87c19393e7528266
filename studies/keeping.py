"""Keeping: which of the settings that were put back pay. The rules stand in studies/ablate.py."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hotlap.measurement import Rate
from hotlap.settings import Settings
from studies.arm import Arm
from studies.changes import without
from studies.lab import Lab
from studies.power import expected_gain
from studies.rounds import NARROW, Rounds

FEW_ROUNDS = 3
"""With fewer ratios no interval says anything (Student's t with one degree of freedom is 12.7)."""

CLEARLY = 3.0
"""A single ratio that is lower by so many standard deviations is so by chance in 1 of 700."""


@dataclass(frozen=True)
class Contribution:
    """What one changed setting brings, or several that were put back together.

    Attributes:
        settings: Names; more than one where the time was too short for each alone, or where they
            mean nothing without each other.
        whole: The arm with all settings.
        without: The arm without these.
        ratio: How many times better it is with them, with an interval that holds for all of the
            contributions together.
        kept: Whether they pay.
        reason: Why they stay although their interval says nothing; empty otherwise.
        merged: Whether they were put back together for want of time, so that nobody knows which of
            them pays.
    """

    settings: tuple[str, ...]
    whole: Arm
    without: Arm
    ratio: Rate
    kept: bool
    reason: str = ""
    merged: bool = False


def worth_keeping(found: list[Contribution]) -> list[Contribution]:
    """The most useful first; those kept without which too much would be lost."""
    found = sorted(found, key=lambda c: (c.kept, _expected_gain(c)))
    lost = 0.0
    for i, contribution in enumerate(found):
        lost += 0.0 if contribution.kept else _expected_gain(contribution)
        if not contribution.kept and lost > math.log1p(NARROW):
            found[i] = replace(contribution, kept=True, reason="likely, and too much to lose")
    # What fails without a setting may have no ratio at all: nothing is more useful.
    return sorted(found, key=lambda c: (bool(c.without.reasons), c.ratio.value), reverse=True)


def _expected_gain(contribution: Contribution) -> float:
    """What a setting is expected to bring, as a logarithm from 0: its gain, shrunk by its doubt."""
    ratios = contribution.whole.ratios(contribution.without)
    logs = [math.log(ratio) for ratio in ratios]
    if len(logs) < FEW_ROUNDS:
        return 0.0
    return expected_gain(statistics.fmean(logs), statistics.variance(logs) / len(logs))


def with_one_put_back(
    rounds: Rounds,
    found: list[Contribution],
    likely: Sequence[tuple[str, ...]],
    baseline: Settings,
) -> list[Contribution]:
    """The contributions, with one more kept if all that is dropped cannot go together.

    Where no time is left to see which, it is the likeliest.
    """
    dropped = sorted((c for c in found if not c.kept), key=lambda c: likely.index(c.settings))
    noise = _noise(found)
    if len(dropped) < 2 or noise is None:
        return found
    whole = dropped[0].whole
    less = -max(math.log1p(NARROW), CLEARLY * noise)

    def is_slower(some: Sequence[Contribution]) -> bool | None:
        """Whether the whole is, without these; None where there is no time to see it."""
        if len(some) == 1:  # its own rounds have told
            return _expected_gain(some[0]) > -less
        left = _left(some, baseline)
        if not rounds.lab.knows(left):  # and so it cannot be proven either
            return True
        arms = [
            Arm("all", whole.settings, sign=whole.sign),
            Arm("what is left", left, sign=whole.sign),
        ]
        if rounds.left() < rounds.round_s(arms):
            return None
        replace(rounds, max_rounds=1, kept_s=0.0).run(arms, arms[0])
        return bool(arms[1].reasons) or any(math.log(r) < less for r in arms[1].ratios(arms[0]))

    if not is_slower(dropped):
        return found
    for one in dropped:
        others = [c for c in dropped if c is not one]
        if not is_slower(others):
            names = " and ".join(" + ".join(c.settings) for c in others)
            again = replace(one, kept=True, reason=f"needed: without it and {names} it was slower")
            return [again if c is one else c for c in found]
    return found


def known_without(lab: Lab, found: list[Contribution], baseline: Settings) -> list[Contribution]:
    """The contributions, the most useful ones kept until what is left can be tried."""
    while (dropped := [c for c in found if not c.kept]) and not lab.knows(_left(dropped, baseline)):
        again = replace(dropped[0], kept=True, reason="the table does not have the rest")
        found = [again if c is dropped[0] else c for c in found]
    return found


def _left(dropped: Sequence[Contribution], baseline: Settings) -> Settings:
    """What is left of the whole without them."""
    names = [name for c in dropped for name in c.settings]
    return without(names, dropped[0].whole.settings, baseline)


def _noise(found: Sequence[Contribution]) -> float | None:
    """Standard deviation of a ratio's logarithm in one round, by all arms together."""
    logs = [[math.log(ratio) for ratio in c.whole.ratios(c.without)] for c in found]
    variances = [statistics.variance(of_one) for of_one in logs if len(of_one) > 1]
    return math.sqrt(statistics.fmean(variances)) if variances else None
