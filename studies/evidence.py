"""Evidence: the rounds that speak of a speedup, of one session of a study or of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hotlap.figures import number
from hotlap.measurement import Ratio
from studies.arm import Arm, log_interval, shared_error, widened


@dataclass(frozen=True)
class Evidence:
    """Ratios of rounds, and what makes their interval wider than they are themselves.

    Attributes:
        ratios: To the baseline of the same round.
        n_compared: So many arms were compared with it, in the session that had most of them: who
            was picked among several stays picked, whatever rounds follow.
        drift: The part of their mean's logarithm that a steady drift may have made.
    """

    ratios: tuple[float, ...] = ()
    n_compared: int = 1
    drift: float = 0.0

    @classmethod
    def of(cls, arm: Arm, baseline: Arm) -> Evidence:
        """What the rounds of one session say of an arm."""
        return cls(tuple(arm.ratios(baseline)), arm.n_compared, arm.drift_over(baseline))

    @classmethod
    def read(cls, provenance: Mapping[str, Any]) -> Evidence:
        """What a frozen file says; none where an older hotlap or a person has written it."""
        listed = provenance.get("speedup_ratios")
        numbers = map(number, listed if isinstance(listed, list) else ())
        ratios = tuple(ratio for ratio in numbers if ratio is not None and ratio > 0)
        n_compared = number(provenance.get("speedup_n_compared")) or 1
        drift = number(provenance.get("speedup_drift")) or 0.0
        return cls(ratios, max(1, int(n_compared)), drift)

    @property
    def speedup(self) -> Ratio:
        """Their geometric mean with the interval that holds for all arms, with and without drift.

        For one session the arm's own (studies/arm.py).
        """
        rate = log_interval(self.ratios, shared_error(self.n_compared))
        return Ratio.of(widened(rate, self.drift))

    def written(self) -> dict[str, Any]:
        """As a frozen file has it."""
        speedup = self.speedup
        return {
            "speedup": speedup.value,
            "speedup_ci95": [speedup.low, speedup.high],
            "speedup_ratios": [round(ratio, 4) for ratio in self.ratios],
            "speedup_n_compared": self.n_compared,
            "speedup_drift": round(self.drift, 6),
        }

    def __add__(self, other: Evidence) -> Evidence:
        """Both together; each has its share of the drift by its share of the rounds."""
        ours, theirs = len(self.ratios), len(other.ratios)
        moved = ours * self.drift + theirs * other.drift
        drift = moved / (ours + theirs) if ours + theirs else 0.0
        n_compared = max(self.n_compared, other.n_compared)
        return Evidence((*self.ratios, *other.ratios), n_compared, drift)
