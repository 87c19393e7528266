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


def parts(doubt: Doubt) -> dict[str, str]:
    """The four parts by their names."""
    return {name: getattr(doubt, name) for name in ("name", "sentence", "cause", "advice")}
