"""Doubt: a named case in which a study's figures say less than they seem to, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Doubt:
    """One warning.

    Attributes:
        name: Which case it is, such as "machine-busy"; never changes its meaning.
        sentence: What was seen, with its numbers.
        cause: What is likely behind it.
        advice: What to do, or to type.
    """

    name: str
    sentence: str
    cause: str
    advice: str


def count(n: int, word: str) -> str:
    """`1 step`, `3 steps`."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def percent(share: float) -> str:
    """A share 0..1 as `31 %`."""
    return f"{share:.0%}".replace("%", " %")
