"""Doubt: a named case in which a study's figures say less than they seem to, in words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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


def more_time(folder: Path) -> str:
    """The advice where the study in `folder` was too short."""
    return f"go on with resume={folder} and a larger budget="


def more_rounds(folder: Path, n_rounds: int) -> str:
    """The advice where `confirm.max_rounds` ended the proof after `n_rounds`, and not the time."""
    return f"go on with resume={folder} confirm.max_rounds={2 * n_rounds}"
