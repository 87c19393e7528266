"""Goal: what a study was asked for; an entry of the bank answers only a question like its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from hotlap.figures import number
from hotlap.settings import Settings
from studies.fingerprints import DIGITS

THOROUGH = 2.0
"""A study with more than so many times an entry's budget, or trials, was meant to find more."""

AUTO = "auto"


class Knob(Protocol):
    """One thing that may vary (see search_spaces/knob.py)."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def choices(self) -> Sequence[Any] | str: ...  # noqa: D102
    @property
    def low(self) -> int | str | None: ...  # noqa: D102
    @property
    def high(self) -> int | str | None: ...  # noqa: D102


@dataclass(frozen=True)
class Goal:
    """What a study was asked for.

    Attributes:
        objective: Its name: throughput or run_time.
        run: The full run: epochs and samples, None where nobody said.
        base: The baseline's settings.
        knobs: What was searched, by the knob's name: a list of choices, a mapping with `low` and
            `high`, or "auto".
        budget_s: The study's budget in seconds.
        n_trials: At most so many trials, None for no limit.
        limits: What a winner has to keep (conf/schema.py): other limits let other settings win.
    """

    objective: str
    run: dict[str, Any]
    base: dict[str, Any]
    knobs: dict[str, Any]
    budget_s: float
    n_trials: int | None = None
    limits: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        objective: str,
        run: Mapping[str, Any],
        base: Settings,
        wanted: Sequence[Knob],
        active: Sequence[Knob],
        budget_s: float,
        n_trials: int | None,
        limits: Mapping[str, Any],
    ) -> Goal:
        """The goal of a study with these knobs, as the user `wanted` them and as they are `active`.

        What the user left to the facts is "auto", because facts are measured and vary a little.
        """
        auto = {knob.name for knob in wanted if AUTO in (knob.choices, knob.low, knob.high)}
        knobs = {
            knob.name: AUTO
            if knob.name in auto
            else list(knob.choices) or {"low": knob.low, "high": knob.high}
            for knob in active
        }
        same = (objective, dict(run), base.to_dict(), knobs)
        return cls(*same, budget_s, n_trials, dict(limits))

    @classmethod
    def from_dict(cls, data: Any) -> Goal:
        """A goal as `to_dict` made it.

        Raises:
            ValueError: It is none.
        """
        try:
            goal = cls(**data)
            parts = (goal.run, goal.base, goal.knobs, goal.limits)
            fits = [
                isinstance(goal.objective, str),
                *(isinstance(part, dict) for part in parts),
                *(_is_searched(part) for part in goal.knobs.values()),
                number(goal.budget_s) is not None,
                goal.n_trials is None or isinstance(goal.n_trials, int),
                goal.n_trials is None or number(goal.n_trials) is not None,
            ]
        except (TypeError, AttributeError) as error:
            raise ValueError(f"its goal cannot be read: {error}") from None
        if not all(fits):
            raise ValueError("its goal has values of a wrong type")
        return goal

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @property
    def key(self) -> str:
        """Equal where winners can be compared: the same objective, run, baseline and limits."""
        same = [self.objective, self.run, self.base, self.limits]
        text = json.dumps(same, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]

    def answers(self, other: Goal) -> bool:
        """Whether a search for this goal was one for the `other` too.

        It was if it had the other's knobs, all of their choices, and half of its time at least.
        """
        if self.key != other.key or THOROUGH * self.budget_s < other.budget_s:
            return False
        if self.n_trials is not None and (
            other.n_trials is None or THOROUGH * self.n_trials < other.n_trials
        ):
            return False
        return all(
            name in self.knobs and _holds(self.knobs[name], wanted)
            for name, wanted in other.knobs.items()
        )

    def leaves_open(self, name: str) -> bool:
        """Whether the values of this knob are the facts' own."""
        return bool(self.knobs.get(name) == AUTO)


def _is_searched(values: Any) -> bool:
    """Whether this is what a knob was searched over: choices, numbers `low` to `high`, or auto."""
    if isinstance(values, dict):
        return all(type(values.get(end)) is int for end in ("low", "high"))
    return isinstance(values, list) or bool(values == AUTO)


def _holds(tried: Any, wanted: Any) -> bool:
    """Whether all values that are `wanted` of a knob were among those that were `tried`."""
    if isinstance(tried, list) and isinstance(wanted, list):
        return all(value in tried for value in wanted)
    if isinstance(tried, dict) and isinstance(wanted, dict):
        return bool(tried["low"] <= wanted["low"] and wanted["high"] <= tried["high"])
    return bool(tried == wanted)
