"""Power: what rounds can show, and so how many of them, and of how many arms, are worth their time.

Rounds whose intervals are much wider than the gain that is to be shown hardly ever show it. So
before any round two things are asked: how large a gain is to be expected, and do so many rounds
show it in half of the studies at least (studies/noise.py)? Both are known from the search alone.
The rounds' own values change nothing in it, so that no look at them is lost.

The gain that the search saw is that of the luckiest of many trials. It is shrunk towards nothing
by its own doubt (after James and Stein, "Estimation with quadratic loss", 1961, with the positive
part, and twice as hard, because most settings bring nothing).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from studies.noise import FEW_REPEATS, WIDE, Noise

SHRINK = 2.0
"""A gain of sqrt(2) standard errors or less is expected to be nothing."""

SURELY = 2.0
"""A gain so many times as large as the half width of the rounds' interval is shown in nearly all
studies, also by few rounds, whose intervals are wide or narrow by chance."""


@dataclass(frozen=True)
class Power:
    """What is to be shown, and on what a machine.

    Attributes:
        gain: What the best settings are expected to bring over the baseline, as a logarithm.
        noise: Of the machine.
    """

    gain: float
    noise: Noise

    @classmethod
    def of(cls, seen: float, noise: Noise) -> Power:
        """By the gain that the search has `seen` in one trial beside the baseline, a logarithm.

        Where too few repeats of the baseline were made to know how much processes differ, as much
        is assumed as on the machine of the recorded tables.
        """
        spread = noise.spread if noise.n >= FEW_REPEATS else WIDE
        return cls(expected_gain(seen, 2 * spread**2), Noise(noise.n, spread))

    def rounds_for(self, most_rounds: int, n_compared: int = 1) -> int | None:
        """Paired rounds that show the gain in half of the studies; None if `most_rounds` do not."""
        return self.noise.rounds_for(math.expm1(self.gain), most_rounds, n_compared)

    def shows(self, n_rounds: int, n_compared: int) -> bool:
        """Whether `n_rounds` of so many arms beside the baseline show it in half of the studies."""
        return self.rounds_for(n_rounds, n_compared) is not None

    def surely_shows(self, n_rounds: int, n_compared: int) -> bool:
        """Whether they show it in nearly all studies."""
        return replace(self, gain=self.gain / SURELY).shows(n_rounds, n_compared)


def expected_gain(seen: float, variance: float) -> float:
    """What is expected of a gain that was seen, both logarithms: it, shrunk by its doubt, from 0.

    Args:
        seen: Measured.
        variance: Of that measurement.
    """
    return max(0.0, seen) * max(0.0, 1 - SHRINK * variance / seen**2) if seen else 0.0
