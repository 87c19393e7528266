"""The space of a recorded table: what `auto` stands for in it, and which lines lie outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hotlap.settings import Settings

AUTO = "auto"
"""As choices or as a bound: what that comes to is known on the machine that recorded, alone."""


def resolved(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The knobs of a table; where one is `auto`, with the values that its lines have.

    Args:
        lines: Of a table in which nothing is wrong, the first one first.
    """
    base, *others = [Settings.from_dict(line.get("settings", {})) for line in lines]
    space = dict(lines[0]["space"])
    for name, knob in space.items():
        if AUTO in (knob.get("choices"), knob.get("low"), knob.get("high")):
            told = [one.to_dict() for one in others]  # without what means nothing beside the rest
            values = {one[name] for one in told if name in one} or {getattr(base, name)}
            choices = sorted(values, key=lambda value: (value is not None, value))
            parts = {key: knob[key] for key in ("when", "numerics") if key in knob}
            space[name] = {"choices": choices, **parts}
    return space


def outside(line: Mapping[str, Any], header: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each setting of a line that no search of the space would ever try."""
    base = Settings.from_dict(header.get("settings", {}))
    for name, value in Settings.from_dict(line["settings"]).to_dict().items():
        knob, own = header["space"].get(name), getattr(base, name)
        if value == own or (knob and _holds(knob, value)):
            continue
        why = "no value of its knob" if knob else f"no knob, and {own!r} in the baseline"
        yield (
            f"settings.{name} is {value!r}, and in the space it is {why}; add it there, or take "
            "the line out (what a line does not name is PyTorch's default)"
        )


def _holds(knob: Mapping[str, Any], value: Any) -> bool:
    """Whether a value is one of the knob's; what is `auto`, or not known, holds them all."""
    choices, low, high = knob.get("choices"), knob.get("low"), knob.get("high")
    if choices:
        return bool(choices == AUTO or value in choices)
    if not (isinstance(low, int) and isinstance(high, int)):
        return True
    return value in range(low, high + 1, knob.get("step") or 1)
