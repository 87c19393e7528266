"""Arm: one settings value in the rounds, and its speedup over another one with the doubt.

Round for round an arm is divided by the baseline of the same round, so that what changes from
round to round (a neighbour, a warmer chip) falls out. The geometric mean of the ratios is quoted,
with Student's interval on their logarithms.

A machine that becomes slower from trial to trial falls out only where orders differ: of three
rounds of two arms one in four has all in one order, and all three ratios agree on what the drift
alone makes. So an interval holds the ratio with and without what a steady drift has made of it, by
how much later the arm ran and how both arms moved meanwhile. (Rounds of balanced orders would
cancel it; but the fewer orders there are, the oftener a wave of the machine meets one of them.)

Several arms are compared with one baseline, and the best of several looks better than it is. So
each interval, of a ratio or of a rate, is as wide as it must be for all of them to hold together in
95 of 100 studies (Bonferroni's correction: the error is shared out among the arms). The value in
its midst is not corrected: that of an arm that was picked among several is a little too good.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from hotlap.measurement import Rate, Ratio
from hotlap.settings import Settings
from studies.protocols import Trial

ERROR = 0.05
"""How often one of the intervals may miss the truth, of both sides together."""

ENDED_WHEN_NARROW = 0.04
"""What intervals are made for, so that they miss in `ERROR`: rounds end when the intervals are
narrow (studies/rounds.py), and one that is narrow by chance misses more often. Simulated over
spreads from 0.5 to 10 % and up to 40 rounds, see tests/studies/test_rounds_coverage.py."""

ALONE = 0.03
"""The same where one arm alone is compared. Several have to be narrow all at once, which happens
seldom by chance; a single one, made for 96 %, held the truth in 93 % at a spread of 4 %."""


@dataclass(eq=False)
class Arm:
    """One settings value through the rounds.

    Attributes:
        name: "baseline", "expert" or "trial 7".
        settings: What it stands for.
        trials: Its trial in each round it took part in, by round.
        n_compared: So many arms are compared with the baseline, this one among them.
        reasons: Why it cannot win, whatever its rate; empty if it can.
        sign: 1 where a larger value is better, -1 where a smaller one is.
        beaten: Whether it was far behind the best one beyond doubt, and so left out of further
            rounds.
    """

    name: str
    settings: Settings
    trials: dict[int, Trial] = field(default_factory=dict)
    n_compared: int = 1
    reasons: list[str] = field(default_factory=list)
    sign: int = 1
    beaten: bool = False

    def rates(self) -> dict[int, float]:
        """The objective's value in each round in which it ended well."""
        return {r: t.value for r, t in self.trials.items() if t.run.outcome == "ok" and t.value > 0}

    def rate(self) -> Rate:
        """Its value over the rounds, with an interval that holds for all arms together."""
        return log_interval(list(self.rates().values()), shared_error(self.n_compared))

    def throughput(self) -> Rate:
        """Samples per second over the rounds, whatever the objective is; the interval likewise."""
        ended = [t.run.measurement for t in self.trials.values() if t.run.outcome == "ok"]
        rates = [m.samples_per_s for m in ended if m.samples_per_s > 0]
        return log_interval(rates, shared_error(self.n_compared))

    def ratios(self, other: Arm) -> list[float]:
        """How many times better it is, for each round in which both ended well."""
        theirs = other.rates()
        ratios = [value / theirs[r] for r, value in self.rates().items() if r in theirs]
        return ratios if self.sign > 0 else [1 / ratio for ratio in ratios]

    def speedup(self, baseline: Arm) -> Ratio:
        """Its ratio to the baseline, with an interval that holds for all arms together.

        0 where no round could be compared, which the reports show as unknown.
        """
        return Ratio.of(self.over(baseline, shared_error(self.n_compared)))

    def over(self, other: Arm, error: float = ERROR) -> Rate:
        """How many times better it is than another arm, with an interval that a drift widens.

        Args:
            other: In the same rounds.
            error: As that of `log_interval`.
        """
        return widened(log_interval(self.ratios(other), error), self.drift_over(other))

    def drift_over(self, other: Arm) -> float:
        """The part of the ratio's logarithm that is a steady drift's; 0 where none can be seen."""
        common = self.rates().keys() & other.rates().keys()
        times = [[arm.trials[r].ended_s for r in common] for arm in (self, other)]
        logs = [[math.log(arm.trials[r].value) for r in common] for arm in (self, other)]
        if len(common) < 2:
            return 0.0
        apart = statistics.fmean(times[0]) - statistics.fmean(times[1])
        # Both have one slope, each about a mean of its own.
        moved = sum(_products(t, y) for t, y in zip(times, logs, strict=True))
        seconds = sum(_products(t, t) for t in times)
        return self.sign * apart * moved / seconds if seconds else 0.0

    @property
    def fault(self) -> str:
        """How the last of its trials that did not end well ended; empty if all of them did."""
        failed = [trial.run for trial in self.trials.values() if trial.run.outcome != "ok"]
        return f"{failed[-1].outcome}: {failed[-1].reason}" if failed else ""


def shared_error(n_compared: int) -> float:
    """What the interval of each of so many arms is made for, so that all of them hold together."""
    return ALONE if n_compared == 1 else ENDED_WHEN_NARROW / n_compared


def widened(rate: Rate, drift: float) -> Rate:
    """With an interval that holds it with and without a drift, the part of its logarithm."""
    low, high = rate.low * math.exp(min(0.0, -drift)), rate.high * _exp(max(0.0, -drift))
    return Rate(rate.value, low, high)


def log_interval(values: Sequence[float], error: float = ERROR) -> Rate:
    """Geometric mean of positive `values` with Student's interval on their logarithms.

    Args:
        values: Independent of each other, such as ratios of separate processes.
        error: The probability (0..1) with which the interval may miss; both sides together.

    Returns:
        With fewer than two values, an interval from 0 to infinity: nothing is known of the doubt.
    """
    from scipy.special import stdtrit  # scipy takes a while to import

    if not values:
        return Rate(0.0, 0.0, math.inf)
    logs = [math.log(v) for v in values]
    n = len(logs)
    mean = sum(logs) / n
    if n == 1:
        return Rate(math.exp(mean), 0.0, math.inf)
    variance = sum((x - mean) ** 2 for x in logs) / (n - 1)
    half = float(stdtrit(n - 1, 1 - error / 2)) * math.sqrt(variance / n)
    return Rate(math.exp(mean), math.exp(mean - half), _exp(mean + half))


def _products(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Sum of the products of what both differ by from their means."""
    x0, y0 = statistics.fmean(xs), statistics.fmean(ys)
    return sum((x - x0) * (y - y0) for x, y in zip(xs, ys, strict=True))


def _exp(x: float) -> float:
    """Two values far apart have an upper bound that no float can hold."""
    return math.exp(x) if x < 700 else math.inf
