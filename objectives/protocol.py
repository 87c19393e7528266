"""Objective: makes one number of a measurement."""

from __future__ import annotations

from typing import Literal, Protocol

from hotlap.measurement import Measurement

Direction = Literal["maximize", "minimize"]


class Objective(Protocol):
    """Anything that says how good a measurement is."""

    @property
    def direction(self) -> Direction:
        """Whether a larger or a smaller value is better; Optuna's words."""

    @property
    def unit(self) -> str:
        """The value's unit, for people."""

    def value(self, measurement: Measurement) -> float:
        """The number to optimize."""
