"""Checking the numbers of the config: each in its range, and none without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from conf.check_knob import as_yaml
from conf.fault import Fault
from conf.schema import Common
from conf.sources import Sources

MOST = 1e15
"""No number of the config is larger; what a float can hold ends far beyond."""


@dataclass(frozen=True)
class Range:
    """What the number at `key` may be, as a test, in words, and with an example."""

    key: str
    fits: Callable[[Any], bool]
    words: str
    example: str


def _positive(key: str, example: str) -> Range:
    return Range(key, lambda v: v > 0, "more than 0", example)


def _from_one(key: str, example: str, or_null: str = "") -> Range:
    return Range(key, lambda v: v is None or v >= 1, f"a whole number from 1{or_null}", example)


def _share(key: str, example: str) -> Range:
    return Range(key, lambda v: 0 < v < 1, "between 0 and 1", example)


TUNE_RANGES = (
    _positive("window.max_s", "8"),
    _positive("window.min_s", "2"),
    _positive("window.block_s", "0.5"),
    _share("window.precision", "0.02"),
    Range("window.max_warmup_s", lambda v: v >= 0, "0 or more", "15"),
    _positive("window.first_step_s", "120"),
    _positive("window.silence_s", "60"),
    Range("sampler.n_startup_trials", lambda v: v >= 0, "0 or more", "8"),
    Range("sampler.seed", lambda v: 0 <= v < 2**32, "from 0 to 4294967295", "0"),
    _share("pruner.error", "0.05"),
    Range("constraints.device_memory", lambda v: 0 < v <= 1, "more than 0, at most 1", "0.9"),
    _from_one("confirm.n_best", "2"),
    _from_one("confirm.max_rounds", "40"),
    _from_one("n_trials", "50", " or null"),
    _from_one("record_repeats", "1"),
    Range("run.epochs", lambda v: v is None or v > 0, "more than 0, or null", "90"),
    _from_one("run.n_samples", "1281167", " or null"),
)
TRAIN_RANGES = (
    _from_one("epochs", "1"),
    _from_one("max_steps", "1000", " or null"),
    _positive("checkpoint_every_s", "300"),
)
COMMON_RANGES = (Range("seed", lambda v: 0 <= v < 2**32, "from 0 to 4294967295", "0"),)
ALL_RANGES = (*TUNE_RANGES, *TRAIN_RANGES, *COMMON_RANGES)


def in_range(config: Common, ranges: tuple[Range, ...], sources: Sources) -> Iterator[Fault]:
    """The faults of numbers that lie outside of their `ranges`."""
    for allowed in ranges:
        value: Any = config
        for part in allowed.key.split("."):
            value = getattr(value, part)
        if not _endless(value) and not allowed.fits(value):
            yield sources.fault(
                allowed.key,
                what=f"{allowed.key} is {value}",
                right=f"it takes {allowed.words}",
                cure=f"{allowed.key}={allowed.example}",
            )


def too_large(part: Any, at: str, sources: Sources) -> Iterator[Fault]:
    """The faults of infinities and the like, in every number that the types know."""
    for name in (field.name for field in fields(part)):
        key, value = f"{at}{name}", getattr(part, name)
        if is_dataclass(value):
            yield from too_large(value, f"{key}.", sources)
        elif _endless(value):
            examples = [r.example for r in ALL_RANGES if r.key == key]
            yield sources.fault(
                key,
                what=f"{key} is {as_yaml(value)[:40]}",
                right=f"it takes a number of at most {MOST:g}",
                cure=f"{key}={examples[0] if examples else 0}",
            )


def _endless(value: Any) -> bool:
    """Whether it is a number beyond `MOST`; NaN counts as one."""
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and not -MOST <= value <= MOST
    )
