"""Doubt: a warning of a study, as the reports need it; studies/doubts.py has them all."""

from __future__ import annotations

from typing import Protocol


class Doubt(Protocol):
    """A named case in which the figures say less than they seem to."""

    @property
    def name(self) -> str:
        """Which case it is: "machine-busy"."""

    @property
    def sentence(self) -> str:
        """What was seen, with its numbers."""

    @property
    def cause(self) -> str:
        """What is likely behind it."""

    @property
    def advice(self) -> str:
        """What to do, or to type."""


def parts(doubt: Doubt | str) -> dict[str, str]:
    """The four parts by their names; a plain sentence has a sentence only."""
    if isinstance(doubt, str):
        return {"name": "", "sentence": doubt, "cause": "", "advice": ""}
    return {
        "name": doubt.name,
        "sentence": doubt.sentence,
        "cause": doubt.cause,
        "advice": doubt.advice,
    }


def title(doubt: Doubt | str) -> str:
    """`warning [machine-busy]`; a plain sentence has no name."""
    name = parts(doubt)["name"]
    return f"warning [{name}]" if name else "warning"
