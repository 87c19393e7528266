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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hotlap.settings import Settings
from studies.arm import Arm, shared_error
from studies.changes import differing, without
from studies.keeping import (
    FEW_ROUNDS,
    Contribution,
    known_without,
    with_one_put_back,
    worth_keeping,
)
from studies.power import Power
from studies.rounds import Rounds

MAX_ROUNDS = 6
"""More only where the gain of all settings together needs more to show."""

UNSEEN = (
    "the best settings are not taken apart: in the time that is left no rounds could show what "
    "each of them brings"
)


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
    found = worth_keeping([_contribution(group, arm) for group in groups])
    found = known_without(lab, found, baseline)
    found = with_one_put_back(rounds, found, [group.names for group in groups], baseline)
    if unseen:
        note = f"{note}; {_not_in_the_table(unseen)}".removeprefix("; ")
    if not note and not any(c.kept for c in found):
        # Each could go as long as the others stay: what seems to bring most stays.
        found[0] = replace(found[0], kept=True, reason="nothing else would be left")
        found = known_without(lab, found, baseline)
    left = without([name for c in found if not c.kept for name in c.settings], whole, baseline)
    return Ablation(whole, left, tuple(found), note)


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


def _not_in_the_table(unseen: Sequence[tuple[str, ...]]) -> str:
    names = ", ".join(" + ".join(names) for names in unseen)
    return f"what {names} brings is not known: the table does not have the best settings without it"


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
