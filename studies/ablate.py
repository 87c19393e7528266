"""Ablate: which of the best settings pay? What does not is dropped before anything is proven.

Each setting that differs from the baseline is put back, and the whole is measured against itself
without it, in the same paired rounds as in the confirm stage. A setting stays if the whole 95 %
interval of (with it / without it) lies above 1. All of these are divided into the same runs of the
whole, and one of many looks useful by chance, so they are made to hold together in 95 of 100
studies, as the proof's are (studies/arm.py). Of the others, the least useful ones are dropped,
as long as all that is dropped is expected to cost no more than 2 %: many small gains, none of them
proven alone, may be a large one. What is expected of a setting is its measured gain, shrunk
towards nothing by its own doubt (studies/power.py). There are as many arms as have time for the
rounds that show what all settings together are expected to bring; where not even one has, nothing
is taken apart, for it would drop what pays as soon as what does not, and the proof makes more of
the time. Where there are fewer arms than settings, those that are least likely to pay are put back
together; with a single arm, all but those for which the search's own trials speak
(studies/telling.py), for without any of them the whole is the baseline. So one setting alone is not
taken apart: what it brings is what the proof says.

Settings that are each worth little alone may be worth something together, and two may do the same
work, so that either can go but not both. So what is left when all that does not pay has gone is
looked at once beside the whole, and if it is slower by more than the rounds' own noise, one of what
has gone is put back: the likeliest with which it is not. What is left then is an arm of the confirm
rounds beside the whole it comes from, and wins unless it is expected to lose (studies/confirm.py).
That is why this stage comes before the proof: what is frozen is exactly what was proven, and one
proof is enough. What a recorded table does not have is put back by nobody, and stays.

This is one step of backward elimination (Kohavi and John, "Wrappers for feature subset selection",
1997) with the verification that it needs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hotlap.measurement import Rate
from hotlap.settings import NEEDS_WORKERS, Settings
from studies.arm import Arm, shared_error
from studies.lab import Lab
from studies.power import Power, expected_gain
from studies.rounds import NARROW, Rounds

FEW_ROUNDS = 3
"""With fewer ratios no interval says anything (Student's t with one degree of freedom is 12.7)."""

MAX_ROUNDS = 6
"""More only where the gain of all settings together needs more to show."""


CLEARLY = 3.0
"""A single ratio that is lower by so many standard deviations is so by chance in 1 of 700."""

UNSEEN = (
    "the best settings are not taken apart: in the time that is left no rounds could show what "
    "each of them brings"
)


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


@dataclass(frozen=True)
class Ablation:
    """The answer of the ablate stage.

    Attributes:
        whole: The settings that were taken apart.
        left: Those of them that pay, over the baseline.
        contributions: The most useful first.
        note: A sentence, if something stands in the way of an answer.
    """

    whole: Settings
    left: Settings
    contributions: tuple[Contribution, ...] = ()
    note: str = ""

    @property
    def dropped(self) -> frozenset[tuple[str, object]]:
        """Settings, each with its value, of which the rounds have shown nothing."""
        names = [name for c in self.contributions if not c.kept for name in c.settings]
        return frozenset((name, getattr(self.whole, name)) for name in names)


@dataclass
class _Group:
    names: tuple[str, ...]
    settings: Settings
    merged: bool = False
    arm: Arm = field(init=False)


def ablate(
    rounds: Rounds,
    whole: Settings,
    baseline: Settings,
    likely: Sequence[str] = (),
    power: Power | None = None,
    n_told: int = 1,
) -> Ablation:
    """Put back each changed setting and see what it brought.

    Args:
        rounds: How the rounds go, and how long.
        whole: What to take apart.
        baseline: What settings are put back to.
        likely: Names of settings, the most likely to pay first; they get arms of their own first.
        power: What all settings together are expected to bring; None where nobody has an idea.
        n_told: For so many of the likely ones the search's own trials speak.
    """
    lab, sign = rounds.lab, rounds.lab.sign
    groups = _groups(whole, baseline, likely)
    if len(groups) < 2:
        return Ablation(whole, whole)
    unseen = [group.names for group in groups if not lab.knows(group.settings)]
    groups = [group for group in groups if lab.knows(group.settings)]
    if not groups:
        return Ablation(whole, whole, note=_not_in_the_table(unseen))
    if rounds.max_rounds < FEW_ROUNDS:
        note = f"{rounds.max_rounds} rounds are too few to say what each setting brings"
        return Ablation(whole, whole, note=note)
    # Without what makes it fast it is as slow as the baseline.
    trial_s = max(lab.typical_s(), lab.expected_s(whole), lab.expected_s(baseline))
    told = [g for g in groups if not set(likely[:n_told]).isdisjoint(g.names)]
    first = groups[: len(told)] if 0 < len(told) < len(groups) else groups[:1]
    options = {n: _merged(groups, n, first, whole, baseline) for n in range(1, len(groups) + 1)}
    options = {n: some for n, some in options.items() if all(lab.knows(g.settings) for g in some)}
    fitting = _fitting(rounds, trial_s, whole, options)
    if not fitting:
        return Ablation(whole, whole, note="there was no time to try the settings one by one")
    needed = {n: _needed(n_rounds, n, power) for n, n_rounds in fitting.items()}
    n = max((n for n in needed if needed[n]), default=0)
    if not n:
        return Ablation(whole, whole, note=UNSEEN)
    most_rounds = min(rounds.max_rounds, max(MAX_ROUNDS, needed[n]))
    rounds = replace(rounds, max_rounds=most_rounds, kept_s=(n > 1) * 2 * trial_s)
    note = ""
    if n == 1 < len(groups):
        names = " + ".join(name for group in first for name in group.names)
        note = f"there was time to put back all but {names} together, the likeliest to pay"
    groups = options[n]
    arm = Arm("all", whole, n_compared=n, sign=sign)
    for group in groups:
        name = f"without {' + '.join(group.names)}"
        group.arm = Arm(name, group.settings, n_compared=n, sign=sign)
    n_rounds = rounds.run([arm, *(group.arm for group in groups)], arm)
    if not arm.rates():
        why = arm.fault or "no time was left"
        note = f"nothing to take apart, all of them together failed: {why}"
        return Ablation(whole, whole, note=note)
    if n_rounds < FEW_ROUNDS:
        rounds_done = f"{n_rounds} round{'s' * (n_rounds > 1)}"
        note = f"{rounds_done} fitted into the time, too few to say what each setting brings"
        return Ablation(whole, whole, note=note)
    found = _worth_keeping([_contribution(group, arm) for group in groups])
    found = _known_without(lab, found, baseline)
    found = _with_one_put_back(rounds, found, [group.names for group in groups], baseline)
    if unseen:
        note = f"{note}; {_not_in_the_table(unseen)}".removeprefix("; ")
    if not note and not any(c.kept for c in found):
        # Each could go as long as the others stay: what seems to bring most stays.
        found[0] = replace(found[0], kept=True, reason="nothing else would be left")
        found = _known_without(lab, found, baseline)
    left = without([name for c in found if not c.kept for name in c.settings], whole, baseline)
    return Ablation(whole, left, tuple(found), note)


def differing(settings: Settings, baseline: Settings) -> list[str]:
    """Names of the settings that differ from the baseline's and mean something."""
    theirs: Mapping[str, Any] = baseline.to_dict()
    return [
        name
        for name, value in settings.to_dict().items()
        if value != theirs.get(name, getattr(baseline, name))
    ]


def without(names: Sequence[str], settings: Settings, baseline: Settings) -> Settings:
    """The settings with these as the baseline has them."""
    back: dict[str, Any] = {name: getattr(baseline, name) for name in names}
    if back.get("num_workers") == 0:  # what workers would do goes with them
        back |= {name: getattr(baseline, name) for name in NEEDS_WORKERS}
    return replace(settings, **back)


def _fitting(
    rounds: Rounds, trial_s: float, whole: Settings, options: Mapping[int, Sequence[_Group]]
) -> dict[int, int]:
    """Rounds of the whole beside so many arms for which there is time, if these are not too few."""
    found = {}
    for n, groups in options.items():
        n_rounds = rounds.max_rounds
        if trial_s:
            warm_s = rounds.left() - rounds.cold_s([whole, *(group.settings for group in groups)])
            warm_s -= (n > 1) * 2 * trial_s  # to look at what is left
            n_rounds = min(n_rounds, int(warm_s / ((n + 1) * trial_s)))
        if n_rounds >= FEW_ROUNDS:
            found[n] = n_rounds
    return found


def _needed(n_rounds: int, n: int, power: Power | None) -> int:
    """The fewest of `n_rounds` that show what is to be shown with `n` arms; 0 if they do not."""
    shown = FEW_ROUNDS if power is None else power.rounds_for(n_rounds, n)
    return max(FEW_ROUNDS, shown) if shown else 0


def _contribution(group: _Group, whole: Arm) -> Contribution:
    ratio = whole.over(group.arm, shared_error(whole.n_compared))
    failed = "; ".join(group.arm.reasons)
    kept = ratio.low > 1 or bool(failed)
    reason = f"needed: without it {failed}" if failed else ""
    return Contribution(group.names, whole, group.arm, ratio, kept, reason, group.merged)


def _worth_keeping(found: list[Contribution]) -> list[Contribution]:
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


def _with_one_put_back(
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


def _known_without(lab: Lab, found: list[Contribution], baseline: Settings) -> list[Contribution]:
    """The contributions, the most useful ones kept until what is left can be tried."""
    while (dropped := [c for c in found if not c.kept]) and not lab.knows(_left(dropped, baseline)):
        again = replace(dropped[0], kept=True, reason="the table does not have the rest")
        found = [again if c is dropped[0] else c for c in found]
    return found


def _left(dropped: Sequence[Contribution], baseline: Settings) -> Settings:
    """What is left of the whole without them."""
    names = [name for c in dropped for name in c.settings]
    return without(names, dropped[0].whole.settings, baseline)


def _not_in_the_table(unseen: Sequence[tuple[str, ...]]) -> str:
    names = ", ".join(" + ".join(names) for names in unseen)
    return f"what {names} brings is not known: the table does not have the best settings without it"


def _noise(found: Sequence[Contribution]) -> float | None:
    """Standard deviation of a ratio's logarithm in one round, by all arms together."""
    logs = [[math.log(ratio) for ratio in c.whole.ratios(c.without)] for c in found]
    variances = [statistics.variance(of_one) for of_one in logs if len(of_one) > 1]
    return math.sqrt(statistics.fmean(variances)) if variances else None


def _groups(whole: Settings, baseline: Settings, likely: Sequence[str]) -> list[_Group]:
    """One group a changed setting, the likely ones first; settings that go together are one."""
    order = {name: i for i, name in enumerate(likely)}
    names = sorted(differing(whole, baseline), key=lambda name: order.get(name, len(order)))
    found: dict[object, _Group] = {}
    for name in names:
        settings = without([name], whole, baseline)
        group = found.setdefault(settings.key(), _Group((), settings))
        group.names += (name,)
    return list(found.values())


def _merged(
    groups: list[_Group], n: int, first: Sequence[_Group], whole: Settings, baseline: Settings
) -> list[_Group]:
    """At most `n` groups: the last ones become one; a single one is all but the `first`."""
    if n == 1 < len(groups):
        groups = groups[len(first) :]
    if len(groups) <= n:
        return groups
    names = tuple(name for group in groups[n - 1 :] for name in group.names)
    return [*groups[: n - 1], _Group(names, without(names, whole, baseline), merged=True)]
