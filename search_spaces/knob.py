"""Knob: one thing that may vary, with its range, read from plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hotlap.settings import NEEDS_WORKERS

Value = None | bool | int | str
"""What a knob can be set to. Optuna keeps these four exactly in a database; tuples break there."""

NUMERICS = ("exact", "rounding", "precision")
"""What a knob may change, weakest first: nothing, the order of the arithmetic, its precision."""

AUTO = "auto"
"""As choices or as a bound: from the facts (see search_spaces/auto.py)."""


@dataclass(frozen=True)
class When:
    """Makes a knob active only if another knob's value is above a number, or equals a value."""

    knob: str
    above: int | None = None
    equals: Value = None

    def holds(self, value: Value) -> bool:
        """Whether it holds for the other knob's `value`."""
        if self.above is not None:
            return isinstance(value, int) and value > self.above
        return value == self.equals


@dataclass(frozen=True)
class Knob:
    """One thing that may vary: either `choices`, or whole numbers from `low` to `high`.

    Attributes:
        name: The setting's name.
        choices: The values, or "auto".
        low: Smallest value, or "auto".
        high: Largest value, or "auto".
        step: Distance between two values.
        log: Whether the sampler sees the range in logarithmic scale.
        when: What makes it active; None: always.
        requires: Words that the whole knob needs.
        choice_requires: Words that one choice alone needs, by the choice as written in YAML.
        numerics: What it may change: exact, rounding or precision.
    """

    name: str
    choices: tuple[Value, ...] | str = ()
    low: int | str | None = None
    high: int | str | None = None
    step: int = 1
    log: bool = False
    when: When | None = None
    requires: tuple[str, ...] = ()
    choice_requires: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numerics: str = "exact"

    @classmethod
    def from_mapping(cls, name: str, data: Mapping[str, Any]) -> Knob:
        """The knob `name` from its YAML, which conf/check_space.py has found right.

        A knob for loader workers without a `when` of its own needs `num_workers` above 0: without
        workers it means nothing (pytorch#68576).
        """
        when = data.get("when")
        if not when and name in NEEDS_WORKERS:
            when = {"knob": "num_workers", "above": 0}
        choices = data.get("choices")
        return cls(
            name=name,
            choices=choices if choices == AUTO else tuple(choices or ()),
            low=data.get("low"),
            high=data.get("high"),
            step=data.get("step") or 1,
            log=bool(data.get("log")),
            when=When(when["knob"], when.get("above"), when.get("equals")) if when else None,
            requires=tuple(data.get("requires") or ()),
            choice_requires={k: tuple(v) for k, v in (data.get("choice_requires") or {}).items()},
            numerics=data.get("numerics") or "exact",
        )

    def to_mapping(self) -> dict[str, Any]:
        """Plain data from which `from_mapping` makes the same knob."""
        data: dict[str, Any] = {
            "choices": list(self.choices) if isinstance(self.choices, tuple) else self.choices,
            "low": self.low,
            "high": self.high,
            "step": self.step,
            "log": self.log,
            "requires": list(self.requires),
            "choice_requires": {k: list(v) for k, v in self.choice_requires.items()},
            "numerics": self.numerics,
        }
        if self.when:
            data["when"] = vars(self.when)
        return data

    @property
    def values(self) -> tuple[Value, ...]:
        """All its values; of a range on a logarithmic scale too. Bounds must be numbers by now."""
        if self.choices:
            return tuple(self.choices)
        assert isinstance(self.low, int) and isinstance(self.high, int)
        return tuple(range(self.low, self.high + 1, self.step))


def text_of(value: Value) -> str:
    """A value as it is written in YAML."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
