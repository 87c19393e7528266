"""Noise: how much does the machine itself vary, and so what can be shown on it at all?

The baseline is measured several times in fresh processes (an A/A run), at the start and whenever
the study measures it again. From these runs:

- the *spread* between processes: from differences of neighbours in time, as von Neumann did
  ("Distribution of the ratio of the mean square successive difference to the variance", 1941), so
  that a drift does not count as spread;
- the *drift* over the study: the median of all slopes (Theil and Sen), times its length;
- whether the blocks fall into *two modes*, as they do where OpenMP threads spin beside a
  neighbour: the best split in two has means far apart and little spread within.

With a spread of s, the ratio of two processes spreads by s * sqrt(2), and the mean of n such
ratios has a 95 % interval of t(n - 1) * s * sqrt(2 / n) to both sides: no smaller effect can be
shown in n rounds.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from hotlap.measurement import t_quantile
from hotlap.spoken import percent

NOISY = 0.05
"""Above this spread or drift, the search compares each trial with a baseline next to it."""

DRIFT_REPEATS = 4
"""Three repeats come in order by chance once in three times: no drift is taken from fewer than so
many, or a quiet machine's study would measure its baseline every second trial."""

SMALL = 0.02
"""A change that is worth showing."""

FINEST = 0.001
"""A sentence tells no two smaller changes apart."""

MOST_ROUNDS = 30
"""An effect that needs more rounds than that is out of reach."""

NORMAL_MEDIAN = 0.6745
"""The median of a standard normal variable's absolute value."""

JUMPS = 3.0
"""Where the usual estimate is so many times the robust one, one jump of the machine made it; that
is a drift and no spread."""

APART, WITHIN = 0.5, 5.0
"""Two modes are so far apart, as a share, and by so many standard deviations within them. The best
split of one normal mode lies 2.7 apart, that of a uniform one 3.5; a few processes that each have
a level of their own may look like two modes, but not so far apart."""

MODE_REPEATS, MODE_BLOCKS, MODE_SHARE = 3, 12, 0.15
"""With fewer repeats or blocks, or a smaller share in the smaller mode, it is an outlier."""


@dataclass(frozen=True)
class Repeat:
    """One run of the baseline.

    Attributes:
        t: Seconds since the study's start.
        value: The objective's.
        blocks: The same of each of its blocks.
    """

    t: float
    value: float
    blocks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Noise:
    """What repeats of the baseline say about the machine.

    Attributes:
        n: Repeats.
        spread: Relative standard deviation between processes; 0 for a single one.
        drift: Relative change from the first to the last repeat; 0 with fewer than three.
        modes: The two modes' values, lower first; empty if there is one.
    """

    n: int
    spread: float = 0.0
    drift: float = 0.0
    modes: tuple[float, ...] = ()

    @classmethod
    def of(cls, repeats: Sequence[Repeat]) -> Noise:
        """From the baseline's repeats, in the order of time."""
        logs = [math.log(r.value) for r in repeats]
        steps = [b - a for a, b in zip(logs, logs[1:], strict=False)]
        spread = _spread(steps)
        drift = math.expm1(_slope(repeats, logs) * (repeats[-1].t - repeats[0].t)) if steps else 0.0
        return cls(len(logs), spread, drift, _modes(repeats))

    @property
    def drifts(self) -> bool:
        """Whether the drift is more than the spread makes by chance."""
        return self.n > 2 and abs(self.drift) > max(0.02, 2 * self.spread)

    @property
    def noisy(self) -> bool:
        """Whether neighbours in time have to be compared."""
        drifts = self.n >= DRIFT_REPEATS and abs(self.drift) > NOISY
        return self.spread > NOISY or drifts or bool(self.modes)

    def smallest_effect(self, n_rounds: int) -> float:
        """The smallest change (0.03 is 3 %) that `n_rounds` paired rounds can show."""
        if n_rounds < 2:
            return math.inf
        return math.expm1(t_quantile(n_rounds - 1) * self.spread * math.sqrt(2 / n_rounds))

    def rounds_for(self, effect: float) -> int | None:
        """Paired rounds that show an `effect`; None if more than are ever done."""
        enough = (n for n in range(2, MOST_ROUNDS + 1) if self.smallest_effect(n) <= effect)
        return next(enough, None)

    def sentence(
        self, n_rounds: int = 0, effect: float | None = None, most_rounds: int = MOST_ROUNDS
    ) -> str:
        """What it means.

        Args:
            n_rounds: Paired rounds of the proof; 0 before it.
            effect: What these have shown to be their doubt; None takes what is to be expected.
            most_rounds: Before the proof: how many rounds it will have at the most.
        """
        if self.n < 2:
            return "the baseline was measured once only, so nothing is known of the machine's noise"
        runs = f"{self.n} runs of the baseline"
        said = [f"{runs} differ by {percent(self.spread, fine=True)} from process to process"]
        if self.drifts:
            word = "faster" if self.drift > 0 else "slower"
            said.append(f"became {percent(abs(self.drift), fine=True)} {word} meanwhile")
        if self.modes:
            low, high = self.modes
            said.append(f"have two modes, one {high / low:.1f} times as fast as the other")
        text = ", ".join(said)
        if n_rounds >= 2:
            effect = self.smallest_effect(n_rounds) if effect is None else effect
            least = _change(effect)
            return f"{text}; {n_rounds} paired rounds cannot show a change of less than {least}"
        needed = self.rounds_for(SMALL)
        if needed is not None and needed <= most_rounds:
            return f"{text}; to show a change of 2 % takes {needed} paired rounds"
        if most_rounds < 2:
            return text
        least = _change(self.smallest_effect(most_rounds))
        return (
            f"{text}; the smallest change that {most_rounds} paired rounds can show here is {least}"
        )


def _change(effect: float) -> str:
    """A smallest change: no less than what a sentence can write."""
    if effect >= 1:
        return f"a factor of {1 + effect:.3g}"
    return percent(max(effect, FINEST), fine=True)


def _spread(steps: Sequence[float]) -> float:
    """Standard deviation of a repeat, from the differences of neighbours."""
    if not steps:
        return 0.0
    usual = math.sqrt(sum(d * d for d in steps) / (2 * len(steps)))
    robust = statistics.median(abs(d) for d in steps) / NORMAL_MEDIAN / math.sqrt(2)
    return robust if 0 < JUMPS * robust < usual else usual


def _slope(repeats: Sequence[Repeat], logs: Sequence[float]) -> float:
    """Median of the slopes between all pairs, per second."""
    if len(logs) < 3:
        return 0.0
    slopes = [
        (logs[j] - logs[i]) / (repeats[j].t - repeats[i].t)
        for i in range(len(logs))
        for j in range(i + 1, len(logs))
        if repeats[j].t > repeats[i].t
    ]
    return statistics.median(slopes) if slopes else 0.0


def _modes(repeats: Sequence[Repeat]) -> tuple[float, ...]:
    """The means of the best split in two, if that are two modes."""
    logs = sorted(math.log(v) for repeat in repeats for v in repeat.blocks if v > 0)
    least = max(2, math.ceil(MODE_SHARE * len(logs)))
    if len(logs) < MODE_BLOCKS or len(repeats) < MODE_REPEATS:
        return ()
    sums = list(itertools.accumulate(logs, initial=0.0))
    total, squares = sums[-1], sum(x * x for x in logs)

    def within(i: int) -> float:
        """Sum of the squared distances to the two parts' means, if the first has `i` values."""
        low, high = sums[i], total - sums[i]
        return squares - low * low / i - high * high / (len(logs) - i)

    best = min(range(least, len(logs) - least + 1), key=within)
    low, high = sums[best] / best, (total - sums[best]) / (len(logs) - best)
    spread = math.sqrt(max(0.0, within(best)) / len(logs))
    if high - low < max(math.log1p(APART), WITHIN * spread):
        return ()
    return math.exp(low), math.exp(high)
