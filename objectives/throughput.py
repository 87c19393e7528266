"""Throughput: samples per second of steady training, epoch starts included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hotlap.measurement import Measurement
from objectives.protocol import Direction


@dataclass(frozen=True)
class Throughput:
    """Samples trained on in a second; what a run pays once (start-up, compilation) is left out.

    Attributes:
        direction: More is better.
        unit: Of the value.
    """

    direction: Direction = "maximize"
    unit: str = "samples/s"

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Any workload has a rate."""

    def value(self, measurement: Measurement) -> float:
        """Samples per second; 0 for a measurement without blocks."""
        return measurement.samples_per_s
