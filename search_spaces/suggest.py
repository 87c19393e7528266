"""From an Optuna trial to Settings and back: the only caller of `trial.suggest_*`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Protocol

from hotlap.settings import Settings
from search_spaces.knob import Knob, Value


class Suggests(Protocol):
    """What is used of an Optuna trial (also of a FixedTrial)."""

    def suggest_categorical(self, name: str, choices: Sequence[Any], /) -> Any:
        """One of `choices`."""

    def suggest_int(
        self, name: str, low: int, high: int, *, step: int = 1, log: bool = False
    ) -> int:
        """A whole number from `low` to `high`."""


def suggest(trial: Suggests, knobs: Sequence[Knob], base: Settings) -> Settings:
    """Settings with the trial's suggestions over `base`.

    A knob whose `when` does not hold is not suggested, so that no trial carries a parameter that
    means nothing.

    Args:
        trial: An Optuna trial that was asked for.
        knobs: Active knobs, each after the one its `when` names (see search_spaces/active.py).
        base: The values of all that is not suggested.
    """
    chosen: dict[str, Any] = {}
    for knob in knobs:
        if _is_on(knob, knobs, chosen, base):
            chosen[knob.name] = _suggested(trial, knob)
    return replace(base, **chosen)


def params_of(settings: Settings, knobs: Sequence[Knob]) -> dict[str, Value]:
    """The parameters with which `suggest` returns `settings`.

    Where `settings` lie outside the space, the parameters of a near point: each value that a knob
    does not have is replaced by the nearest one. Compare what `suggest` makes of them.
    """
    chosen: dict[str, Value] = {}
    for knob in knobs:
        if _is_on(knob, knobs, chosen, settings):
            chosen[knob.name] = _nearest(getattr(settings, knob.name), knob.values)
    return chosen


def grid(knobs: Sequence[Knob], base: Settings) -> Iterator[Settings]:
    """All settings of the space, each once."""
    for chosen in _points(knobs, {}, knobs, base):
        yield replace(base, **chosen)


def neighbours(
    settings: Settings, knobs: Sequence[Knob], base: Settings
) -> Iterator[tuple[str, Value, Settings]]:
    """Settings of the space that differ from `settings` in one knob: its name, the value, they.

    Knobs that hang on the changed one keep their value where they still mean something.
    """
    for knob in knobs:
        if not _is_on(knob, knobs, {k.name: getattr(settings, k.name) for k in knobs}, base):
            continue
        for value in knob.values:
            if value != getattr(settings, knob.name):
                change: dict[str, Any] = {knob.name: value}
                changed = replace(settings, **change)
                yield knob.name, value, suggest(_Given(params_of(changed, knobs)), knobs, base)


def nearest(settings: Settings, knobs: Sequence[Knob], base: Settings) -> Settings:
    """The point of the space that lies nearest to `settings`; the base where nothing varies."""
    return suggest(_Given(params_of(settings, knobs)), knobs, base)


def size(knobs: Sequence[Knob], base: Settings | None = None) -> int:
    """How many settings `grid` would give, counted without making them."""
    base = base or Settings()
    names = {knob.name for knob in knobs}
    roots = [knob for knob in knobs if not (knob.when and knob.when.knob in names)]
    return prod(_count(knob, knobs) for knob in roots if _is_on(knob, knobs, {}, base))


@dataclass(frozen=True)
class _Given:
    """Suggests what it was given."""

    params: dict[str, Value]

    def suggest_categorical(self, name: str, choices: Sequence[Any], /) -> Any:
        """The parameter `name`."""
        return self.params[name]

    def suggest_int(
        self, name: str, low: int, high: int, *, step: int = 1, log: bool = False
    ) -> int:
        """The parameter `name`."""
        value = self.params[name]
        assert isinstance(value, int)
        return value


def _suggested(trial: Suggests, knob: Knob) -> Value:
    if knob.choices:
        value: Value = trial.suggest_categorical(knob.name, knob.choices)
        return value
    low, high = knob.values[0], knob.values[-1]  # `high` itself may lie between two steps
    assert isinstance(low, int) and isinstance(high, int)
    return trial.suggest_int(knob.name, low, high, step=knob.step, log=knob.log)


def _is_on(knob: Knob, knobs: Sequence[Knob], chosen: dict[str, Any], base: Settings) -> bool:
    """Whether the knob means something beside the values chosen so far."""
    when = knob.when
    if when is None:
        return True
    if when.knob in chosen:
        return when.holds(chosen[when.knob])
    searched = any(other.name == when.knob for other in knobs)
    return not searched and when.holds(getattr(base, when.knob))


def _nearest(value: Any, values: Sequence[Value]) -> Value:
    same = [other for other in values if other == value and type(other) is type(value)]
    if same:
        return same[0]
    numbers = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
    if isinstance(value, int) and not isinstance(value, bool) and numbers:
        return min(numbers, key=lambda number: abs(number - value))
    return values[0]


def _points(
    left: Sequence[Knob], chosen: dict[str, Any], knobs: Sequence[Knob], base: Settings
) -> Iterator[dict[str, Any]]:
    if not left:
        yield chosen
        return
    knob, rest = left[0], left[1:]
    if not _is_on(knob, knobs, chosen, base):
        yield from _points(rest, chosen, knobs, base)
        return
    for value in knob.values:
        yield from _points(rest, {**chosen, knob.name: value}, knobs, base)


def _count(knob: Knob, knobs: Sequence[Knob]) -> int:
    """Settings of the knob and of all that hang on it: knobs form trees, as each has one parent."""
    children = [child for child in knobs if child.when and child.when.knob == knob.name]
    return sum(
        prod(_count(c, knobs) for c in children if c.when and c.when.holds(value))
        for value in knob.values
    )
