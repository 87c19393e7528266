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
ratios has an interval of t(n - 1) * s * sqrt(2 / n) to both sides. Of a change as large as that, n
rounds measure more as often as less, so they show it in half of the studies, and a smaller one less
often. The t is the proof's (studies/arm.py), which is larger the more arms are compared.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hotlap.spoken import percent
from studies.arm import shared_error
from studies.protocols import Trial

FEW_REPEATS = 3
"""With fewer repeats nothing is known: the difference of two runs tells next to nothing."""

WIDE, WIDE_DEGREES = 0.14, 4
"""What processes are taken to differ by then, as if so many degrees of freedom had told it: the
root mean square over the repeated tables of benchmarks/tables, where it is 9, 10 and 20 %. So
racing keeps to its error on each of them, and still stops what runs at 0.4 of the best rate."""

SMALL = 0.02
"""A change that is worth showing."""

LEAST_ROUNDS = 3
"""Fewer prove nothing (Student's t with one degree of freedom is 12.7), unless the gain is huge."""

IN_WORDS = ("no", "one", "two")

FINEST = 0.001
"""A sentence tells no two smaller changes apart."""

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
    """One run of settings, the baseline's as a rule.

    Attributes:
        t: Seconds since the study's start.
        value: The objective's.
        rate: Samples per second, whatever the objective is.
        blocks: The same of each of its blocks.
    """

    t: float
    value: float
    rate: float
    blocks: tuple[float, ...] = ()

    @classmethod
    def of(cls, trial: Trial) -> Repeat:
        """What a trial that ended well says."""
        m = trial.run.measurement
        blocks = tuple(replace(m, blocks=(block,)).samples_per_s for block in m.blocks)
        return cls(trial.ended_s, trial.value, m.samples_per_s, blocks)


@dataclass(frozen=True)
class Noise:
    """What repeats of the baseline say about the machine.

    Attributes:
        n: Repeats.
        spread: Of the objective's value, relative standard deviation between processes; 0 for one.
        drift: Relative change of the rate from the first to the last repeat; 0 with fewer than
            three.
        modes: The two modes' samples per second, lower first; empty if there is one.
    """

    n: int
    spread: float = 0.0
    drift: float = 0.0
    modes: tuple[float, ...] = ()

    @classmethod
    def of(cls, repeats: Sequence[Repeat]) -> Noise:
        """From the baseline's repeats, in the order of time."""
        values = [math.log(r.value) for r in repeats]
        spread = _spread([b - a for a, b in itertools.pairwise(values)])
        slope = _slope(repeats, [math.log(r.rate) for r in repeats])
        drift = math.expm1(slope * (repeats[-1].t - repeats[0].t))
        return cls(len(values), spread, drift, _modes(repeats))

    @property
    def drifts(self) -> bool:
        """Whether the drift is more than the spread makes by chance."""
        return self.n > 2 and abs(self.drift) > max(0.02, 2 * self.spread)

    @property
    def between_processes(self) -> tuple[float, float]:
        """The spread to expect, and its degrees of freedom: `WIDE` where too few were seen.

        Differences of neighbours overlap, so they are worth a little less than n - 1 degrees.
        Racing adds two bounds where the sum of their squares would do for two, which makes up
        for that, and for the luck of the best one of many.
        """
        if self.n < FEW_REPEATS:
            return WIDE, WIDE_DEGREES
        return self.spread, self.n - 1

    def smallest_effect(self, n_rounds: int, n_compared: int = 1) -> float:
        """The change (0.03 is 3 %) that `n_rounds` paired rounds show in half of the studies.

        It is the half width of their interval: a smaller change is shown less often.

        Args:
            n_rounds: Rounds.
            n_compared: Arms that are compared with the baseline in them.
        """
        from scipy.special import stdtrit  # scipy takes a while to import

        if n_rounds < 2:
            return math.inf
        t = float(stdtrit(n_rounds - 1, 1 - shared_error(n_compared) / 2))
        return math.expm1(t * self.spread * math.sqrt(2 / n_rounds))

    def rounds_for(self, effect: float, most_rounds: int, n_compared: int = 1) -> int | None:
        """Paired rounds that show an `effect` as often as that; None if `most_rounds` do not."""
        counts = range(2, most_rounds + 1)
        return next((n for n in counts if self.smallest_effect(n, n_compared) <= effect), None)

    def outlook(self, most_rounds: int, n_compared: int = 1) -> str:
        """What it means before the proof.

        Args:
            most_rounds: Paired rounds that the proof can have at the most.
            n_compared: Arms that will be compared with the baseline.
        """
        if self.n < 2 or most_rounds < LEAST_ROUNDS:
            return self._seen
        needed = self.rounds_for(SMALL, most_rounds, n_compared)
        if needed is not None:
            return f"{self._seen}; {_shown(needed, SMALL)}"
        return f"{self._seen}; {_shown(most_rounds, self.smallest_effect(most_rounds, n_compared))}"

    def sentence(
        self,
        n_rounds: int = 0,
        n_compared: int = 1,
        effect: float | None = None,
        proven: bool = False,
    ) -> str:
        """What it means after the proof.

        Args:
            n_rounds: Paired rounds that it had.
            n_compared: Arms that were compared with the baseline.
            effect: The half width of their own interval; None takes what is to be expected.
            proven: Whether they have proven something all the same.
        """
        if n_rounds and n_rounds < LEAST_ROUNDS and not proven:
            prove = "proves" if n_rounds == 1 else "prove"
            rounds = "round" if n_rounds == 1 else "rounds"
            return f"{self._seen}; {IN_WORDS[n_rounds]} paired {rounds} {prove} nothing"
        if self.n < 2 or not n_rounds:
            return self._seen
        if effect is None:
            effect = self.smallest_effect(n_rounds, n_compared)
        return f"{self._seen}; {_shown(n_rounds, effect)}"

    @property
    def _seen(self) -> str:
        if self.n < 2:
            was = "was measured once only" if self.n else "was not measured"
            return f"the baseline {was} in this session, so nothing is known of the machine's noise"
        runs = f"{self.n} runs of the baseline"
        said = [f"{runs} differ by {percent(self.spread, fine=True)} from process to process"]
        if self.drifts:
            word = "faster" if self.drift > 0 else "slower"
            said.append(f"became {percent(abs(self.drift), fine=True)} {word} meanwhile")
        if self.modes:
            low, high = self.modes
            said.append(f"have two modes, one {high / low:.1f} times as fast as the other")
        return ", ".join(said)


def _shown(n_rounds: int, effect: float) -> str:
    """What rounds can show, `effect` being their half width; no less than a sentence can write."""
    change = f"a change of {percent(max(effect, FINEST), fine=True)}"
    if effect >= 1:
        change = f"a factor of {1 + effect:.3g}"
    often = "in half of the studies, a smaller one less often"
    return f"{n_rounds} paired rounds show {change} {often}"


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
