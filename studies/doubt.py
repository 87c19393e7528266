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
