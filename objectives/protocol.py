"""Objective: makes one number of a measurement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

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

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Learn what no measurement says, before a trial is run.

        Raises:
            UserInputError: The value cannot be had for a workload with these facts; the sentence
                says what to type.
        """

    def value(self, measurement: Measurement) -> float:
        """The number to optimize; the worst one for a measurement without blocks.

        The measurement may be that of a trial midway, or hold a single one of its blocks.
        """
