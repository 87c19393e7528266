"""Checking a knob's range: its choices, or its bounds, step and scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from conf.fault import Fault, nearest
from conf.schema import Knob
from conf.sources import Sources
from hotlap import settings as known
from search_spaces.knob import AUTO

GROUP = "search_space"

MOST = 2**31 - 1
"""No count of threads, workers or samples is larger."""


def range_faults(name: str, knob: Knob, sources: Sources) -> Iterator[Fault]:
    """What is wrong with the values that the knob `name` may take."""
    ends = {"low": knob.low, "high": knob.high}
    numbers = [part for part, value in ends.items() if value is not None]
    steps = knob.step is not None or knob.log
    if knob.choices is not None and (numbers or steps):
        yield knob_fault(
            name,
            "",
            f"the knob {name} has choices and a range",
            "either choices, or low and high with step or log",
            f"~{GROUP}.{name}.choices",
            sources,
            whole=True,
        )
    elif knob.choices is not None:
        yield from _choices(name, knob, sources)
    elif len(numbers) < 2:
        lacking = " and ".join(part for part in ends if part not in numbers)
        what = f"the knob {name} has no {lacking}" + ("" if numbers else " and no choices")
        cure = f"{GROUP}.{name}.{lacking.partition(' ')[0]}=4"
        if name in known.CHOICES:
            cure = f"{GROUP}.{name}.choices=[{','.join(known.CHOICES[name][:2])}]"
        yield knob_fault(name, "", what, "choices, or low and high", cure, sources, whole=True)
    elif name not in known.MINIMUM:
        yield knob_fault(
            name,
            "low",
            f"the knob {name} has low and high, but {name} is no number",
            "choices",
            f"{GROUP}.{name}.choices=[{','.join(known.CHOICES.get(name, ('true', 'false')))}]",
            sources,
            whole=True,
        )
    else:
        yield from _numbers(name, knob, sources)


def _choices(name: str, knob: Knob, sources: Sources) -> Iterator[Fault]:
    choices = knob.choices
    words = known.CHOICES.get(name, ())
    usual = f"[{','.join(words)}]" if words else f"[{as_yaml(getattr(known.Settings, name))}]"
    if choices == AUTO:
        return
    if not isinstance(choices, list) or not choices:
        what = f"the choices of the knob {name} are {as_yaml(choices)}"
        yield knob_fault(
            name, "choices", what, "a list with one choice at least, or auto", usual, sources
        )
        return
    for choice in choices:
        if text := known.faults({name: choice}).get(name):
            _, _, takes = text.partition("; ")
            hint = yaml_hint(choice, words)
            close = nearest(str(choice), words)
            meant = f"; did you mean '{close}'?" if close else ""
            what = f"the knob {name} has the choice {choice!r}"
            yield knob_fault(name, "choices", what, f"{takes}{hint}{meant}", usual, sources)
        elif beyond(choice):
            what = f"the knob {name} has the choice {repr(choice)[:40]}"
            yield knob_fault(name, "choices", what, f"at most {MOST}", usual, sources)
    if len({(type(c), str(c)) for c in choices}) < len(choices):
        once = ",".join(as_yaml(c) for c in dict.fromkeys(map(_plain, choices)))
        yield knob_fault(
            name,
            "choices",
            f"the knob {name} has a choice twice",
            "each choice once",
            f"[{once}]",
            sources,
        )


def _numbers(name: str, knob: Knob, sources: Sources) -> Iterator[Fault]:
    least = known.MINIMUM[name]
    sound = True
    for part, value, example in (("low", knob.low, least), ("high", knob.high, least + 4)):
        if value != AUTO and not (is_whole(value) and least <= value <= MOST):
            sound = False
            yield knob_fault(
                name,
                part,
                f"{part} of the knob {name} is {repr(value)[:40]}",
                f"a whole number from {least} to {MOST}, or auto",
                str(example),
                sources,
            )
    if sound and AUTO not in (knob.low, knob.high) and knob.low > knob.high:
        yield knob_fault(
            name,
            "low",
            f"low of the knob {name} is {knob.low}, more than high, {knob.high}",
            "low at most as high as high",
            str(knob.high),
            sources,
        )
    if knob.step is not None and not (is_whole(knob.step) and 1 <= knob.step <= MOST):
        yield knob_fault(
            name,
            "step",
            f"step of the knob {name} is {knob.step!r}",
            "a whole number from 1",
            "1",
            sources,
        )
    if knob.step is not None and knob.log:
        yield knob_fault(
            name,
            "step",
            f"the knob {name} has step and log",
            "either steps of one size, or a logarithmic scale",
            f"~{GROUP}.{name}.step",
            sources,
            whole=True,
        )
    if knob.log and is_whole(knob.low) and knob.low < 1:
        yield knob_fault(
            name,
            "log",
            f"the knob {name} has a logarithmic scale from {knob.low}",
            "a low of 1 or more, or no log",
            "false",
            sources,
        )


def yaml_hint(value: object, words: Sequence[str]) -> str:
    """A hint for who wrote off, no, on or yes, which YAML reads as false and true."""
    if not isinstance(value, bool) or not words:
        return ""
    instead = "none" if "none" in words else words[0]
    return f"; YAML reads off, no, on and yes as false and true: write {instead}"


def as_yaml(value: object) -> str:
    """A value as it is typed on the command line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) or '""'


def knob_fault(
    name: str, part: str, what: str, right: str, cure: str, sources: Sources, whole: bool = False
) -> Fault:
    """The fault of `part` of the knob `name`; `cure` is its value, or if `whole` all to type."""
    key = f"{GROUP}.{name}" + (f".{part}" if part else "")
    typed = cure if whole else f"{key}={cure}"
    return sources.fault(key, what=what, right=right, cure=typed)


def is_whole(value: Any) -> bool:
    """True for a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def beyond(value: Any) -> bool:
    """True for a whole number that no setting can have."""
    return is_whole(value) and bool(value > MOST)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
