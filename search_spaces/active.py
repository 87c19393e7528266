"""Which knobs are active on this machine for this workload, and why the others are not."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from hotlap.errors import UserInputError
from hotlap.settings import Settings
from search_spaces.auto import auto_values
from search_spaces.hardware import HANGS_ON, MEANING, words
from search_spaces.knob import AUTO, NUMERICS, Knob, Value, text_of
from search_spaces.sharing import worker_counts

FEW = 3
"""So many knobs are named in a sentence; more are counted."""

BECAUSE = {"steady_dataset": "dataset_changes", "any_order": "fixed_order"}
"""Words whose lack a fact explains. What it says is a suspicion, so the user may know better."""

CHOICE_BECAUSE = {"picklable_dataset": "spawn_error"}
"""The same for words that a single choice lacks."""


def active(
    knobs: Iterable[Knob],
    facts: Mapping[str, Any],
    numerics: str = "precision",
    base: Settings | None = None,
) -> tuple[list[Knob], list[str]]:
    """The knobs to search, each after the one its `when` names, and what was left out.

    Args:
        knobs: As the user wrote them.
        facts: Machine facts and the probe's workload facts, in one mapping.
        numerics: The most that tuning may change: exact, rounding or precision.
        base: What a knob keeps that is not searched; PyTorch's defaults if None.

    Returns:
        The knobs with their ranges resolved, and sentences that say which knobs and choices are
        left out (those with one reason share a sentence) or kept although they may change what is
        trained.

    Raises:
        UserInputError: Two knobs wait for each other, or there is no rule for an `auto`.
    """
    base = base or Settings()
    here = words(facts, facts)
    kept: dict[str, Knob] = {}
    gone: dict[str, list[str]] = {}
    unfit: dict[str, str] = {}  # what a knob has left for that its machine or workload lacks
    partly: dict[str, list[tuple[str, str]]] = {}
    doubts: list[str] = []
    for knob in _parents_first(knobs):
        reason = _unfit(knob, here, numerics, facts)
        if not reason and (reason := _parent_gone(knob, kept, base)) and knob.when:
            # Where the knob that it waits for has left for the machine's sake, so has this one.
            reason = unfit.get(knob.when.knob, reason)
        if reason:
            gone.setdefault(reason, []).append(knob.name)
            if reason.startswith("it works ") and "search_space." not in reason:
                unfit[knob.name] = reason
            continue
        written = AUTO not in (knob.choices, knob.low, knob.high)
        knob = _resolved(knob, facts)
        values, refused = _allowed(knob, here, facts)
        if knob.name == "num_workers" and "loader" in here:
            values, left_out, doubt = worker_counts(values, base.num_workers, written, facts)
            refused += [("", left_out)] if left_out else []
            doubts += [doubt] if doubt else []
        if not values or values == [getattr(base, knob.name)]:
            why = _in_words(refused) or f"here it can only be {text_of(values[0])}, as it is anyway"
            gone.setdefault(why, []).append(knob.name)
            continue
        partly[knob.name] = refused
        if knob.choices or len(values) < len(knob.values):
            knob = replace(knob, choices=tuple(values), low=None, high=None, step=1, log=False)
        kept[knob.name] = knob
    for name, refused in partly.items():
        shared = [(value, why) for value, why in refused if f"it {why}" in gone]
        for value, why in shared:
            gone[f"it {why}"].append(f"{name}={value}")
        if own := [one for one in refused if one not in shared]:
            doubts.append(f"{name} is searched in part: {_in_words(own)}")
    return list(kept.values()), [*(_gone(names, why) for why, names in gone.items()), *doubts]


def searched(knobs: Collection[Knob]) -> list[str]:
    """One line that names the knobs which are searched, if there are any."""
    return [f"searched: {', '.join(knob.name for knob in knobs)}"] if knobs else []


def nothing_left(knobs: Collection[str], dropped: Collection[str], numerics: str) -> str:
    """What to say where no knob is active, so that there is nothing but the baseline to measure.

    Args:
        knobs: The names of those that were wanted.
        dropped: Why each was left out, as `active` says it.
        numerics: The most that tuning may change.
    """
    if not knobs:
        return (
            "search_space holds no knob, so there is nothing to search; name some, or leave it out"
        )
    which = f" ({', '.join(knobs)})" if len(knobs) <= FEW else f", {len(knobs)} knobs,"
    forbidden = [f"numerics={numerics} forbids" in line for line in dropped]
    who = f"numerics={numerics} leaves" if all(forbidden) else "this machine and workload leave"
    wider = "more of it with search_space="
    if any(forbidden):
        wider = f"the command without numerics={numerics}, or {wider}"
    return (
        f"{who} nothing of the search space{which} to search, so nothing was measured; type {wider}"
    )


def _in_words(refused: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"{value} {why}".lstrip() for value, why in refused)


def _gone(names: list[str], why: str) -> str:
    """One sentence for the knobs that are left out for the same reason."""
    if len(names) == 1:
        return f"{names[0]} is not searched: {why}"
    each = re.sub(r"\bit\b", "each", why, count=1)  # "it needs ..." is about one of them
    return f"{', '.join(names[:-1])} and {names[-1]} are not searched: {each}"


def _unfit(knob: Knob, here: set[str], numerics: str, facts: Mapping[str, Any]) -> str:
    if why := facts.get("unreached", {}).get(knob.name):  # in somebody's own script
        return str(why)
    if NUMERICS.index(knob.numerics) > NUMERICS.index(numerics):
        return (
            f"it changes the {knob.numerics} of the arithmetic, and numerics={numerics} forbids it"
        )
    missing = [word for word in knob.requires if word not in here]
    if not missing:
        return ""
    needs = f"it works {_explained(missing, here)}"
    if not (why := facts.get(BECAUSE.get(missing[0], ""))):
        return needs
    others = ",".join(word for word in knob.requires if word != missing[0])
    return (
        f"{needs}; {why}; if that does no harm, write search_space.{knob.name}.requires=[{others}]"
    )


def _parent_gone(knob: Knob, kept: Mapping[str, Knob], base: Settings) -> str:
    """Why the knob can never become active, with the values that its parent still has."""
    when = knob.when
    if when is None:
        return ""
    parent = kept.get(when.knob)
    values = parent.values if parent else (getattr(base, when.knob),)
    if any(when.holds(value) for value in values):
        return ""
    need = f"above {when.above}" if when.above is not None else f"= {text_of(when.equals)}"
    return f"it needs {when.knob} {need}, and {when.knob} never gets there"


def _resolved(knob: Knob, facts: Mapping[str, Any]) -> Knob:
    """The knob with values for every `auto`."""
    if AUTO not in (knob.choices, knob.low, knob.high):
        return knob
    values = auto_values(knob.name, facts)
    if knob.choices == AUTO:
        return replace(knob, choices=values)
    numbers = [value for value in values if isinstance(value, int)]
    low = numbers[0] if knob.low == AUTO else knob.low
    high = numbers[-1] if knob.high == AUTO else knob.high
    assert isinstance(low, int) and isinstance(high, int)
    return replace(knob, low=low, high=max(low, high))


def _allowed(
    knob: Knob, here: set[str], facts: Mapping[str, Any]
) -> tuple[list[Value], list[tuple[str, str]]]:
    """The values that work here, and each that does not with a part of a sentence."""
    allowed: list[Value] = []
    refused = []
    unreached = facts.get("unreached", {})  # in somebody's own script
    for value in knob.values:
        required = knob.choice_requires.get(text_of(value), ())
        missing = [word for word in required if word not in here]
        if why := unreached.get(f"{knob.name}={text_of(value)}"):
            refused.append((text_of(value), why))
        elif missing:
            why = facts.get(CHOICE_BECAUSE.get(missing[0], ""))
            needs = f"works {_explained(missing, here)}"
            refused.append((text_of(value), needs + (f"; {why}" if why else "")))
        else:
            allowed.append(value)
    return allowed, refused


def _explained(missing: list[str], here: set[str]) -> str:
    """The first of the missing words, since the others often hang on it, or what it hangs on."""
    word = missing[0]
    root = HANGS_ON.get(word, word)
    return f"only where {MEANING[word if root in here else root]}"


def _parents_first(knobs: Iterable[Knob]) -> list[Knob]:
    """The knobs in their order, but each after the one that its `when` names.

    Raises:
        UserInputError: Two knobs wait for each other.
    """
    waiting = list(knobs)
    ordered: list[Knob] = []
    while waiting:
        names = {knob.name for knob in waiting}
        ready = [knob for knob in waiting if not (knob.when and knob.when.knob in names)]
        if not ready:
            raise UserInputError(
                f"search_space: the `when` of {', '.join(sorted(names))} wait for each other in a "
                "circle; at least one of these knobs must stand without `when`, so delete it there"
            )
        ordered += ready
        waiting = [knob for knob in waiting if knob not in ready]
    return ordered
