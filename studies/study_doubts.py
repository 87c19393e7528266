"""Doubts about a study as a whole: its rounds, their intervals, the baseline meanwhile."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import combinations

from hotlap.measurement import Rate
from hotlap.spoken import count, interval, percent
from studies.doubt import Doubt
from studies.noise import SMALL

WIDE = 0.05
"""A half width above this share of the value: what a full run is checked against is 5 % too."""

DRIFT = 0.05
"""A change of the baseline by less is not worth a word; the rounds' pairs correct it anyway."""

BEYOND_NOISE = 3.0
"""A change of so many standard deviations between processes is no chance."""

TURNED = 4.0
"""A rate that is on no line has moved where the running medians of three lie so many
standard deviations apart: those of 40 runs of white noise lie 2.8 apart on average (each has 0.67
of their spread), and 4 apart once in a hundred studies."""

FEW_ROUNDS = 4
"""Fewer ratios than that have an interval that hardly ever lies above 1 (Student's t)."""

OF_THE_GAIN = 0.25
"""A gain (the speedup less 1) that is known to a quarter is known well enough: 10x +- 6 % is a gain
of 9 +- 7 %, 1.2x +- 6 % one of 0.2 +- 36 %. Statistical offices, too, begin to warn of an estimate
where its relative error is above 25 to 30 %."""


def wide_interval(name: str, speedup: Rate, n_rounds: int, more_time: str) -> Doubt | None:
    """The interval of a speedup is wide.

    Args:
        name: Whose speedup it is: "the winner".
        speedup: With its 95 % interval.
        n_rounds: Rounds that it comes from.
        more_time: What to do for more of them.
    """
    if speedup.value <= 0 or speedup.precision <= WIDE or _known_well(speedup):
        return None
    how = f"is wide: {interval(speedup)}" if speedup.known else "says nothing: too few runs"
    return Doubt(
        "wide-interval",
        f"the speedup of {name} is {speedup.value:.2f}x, and its 95 % interval from "
        f"{count(n_rounds, 'round')} {how}",
        "processes that run the same differ from each other on this machine, and there were few",
        f"{more_time}, on a machine that is quieter",
    )


def baseline_drift(
    rates: Sequence[tuple[float, float]], noise_share: float = 0.0, n_trials: int = 0
) -> Doubt | None:
    """The baseline became faster or slower while the study went on.

    A straight line is laid through the rates' logarithms (Theil's and Sen's: the median of all
    slopes), so one disturbed measurement moves nothing; its change over the whole time counts. A
    rate that came back is on no such line, nor is a step near either end: there the running medians
    of three tell how far it was, and whether it came back.

    Args:
        rates: (seconds since the study's start, samples per second) of each time that the baseline
            was measured.
        noise_share: Relative standard deviation between processes that run the same, 0..1.
        n_trials: Settings that the study has tried, earlier sessions' too.
    """
    logs = [(t, math.log(rate)) for t, rate in rates if rate > 0]
    slopes = [(b - a) / (t_b - t_a) for (t_a, a), (t_b, b) in combinations(logs, 2) if t_a != t_b]
    if not slopes:
        return None
    times = [t for t, _ in logs]
    change = math.expm1(statistics.median(slopes) * (max(times) - min(times)))
    if abs(change) >= max(DRIFT, BEYOND_NOISE * noise_share):
        word = "faster" if change > 0 else "slower"
        became = f"became {percent(abs(change))} {word}"
    else:
        values = [value for _, value in sorted(logs)]
        threes = zip(values, values[1:], values[2:], strict=False)
        levels = [statistics.median(three) for three in threes]
        if max(levels, default=0.0) - min(levels, default=0.0) < max(DRIFT, TURNED * noise_share):
            return None
        first, last = levels[0], levels[-1]
        far = max(levels, key=lambda level: abs(level - first))
        if abs(last - first) < abs(last - far):
            low, high = math.exp(min(levels)), math.exp(max(levels))
            became = f"went between {low:.4g} and {high:.4g} samples/s and back"
        else:
            became = f"went from {math.exp(first):.4g} to {math.exp(last):.4g} samples/s"
    # Alone, the baseline was all that was tried, and no trial compares with it.
    touched = " It touches all settings that were tried meanwhile." if n_trials > 1 else ""
    return Doubt(
        "baseline-drift",
        f"the baseline {became} in the {max(times) - min(times):.0f} s between "
        f"its first and its last measurement ({len(rates)} in all). Speedups come from "
        "pairs measured next to each other, so they hold; rates far apart do not compare."
        f"{touched}",
        "the machine warms up or is throttled, a neighbour comes or goes, or caches fill",
        "compare speedups, not the rates of early and late trials; tune again if it matters",
    )


def two_modes(
    slow: float,
    fast: float,
    slow_share: float,
    omp_wait_policy: str = "",
    who: str = "the baseline",
) -> Doubt | None:
    """The same settings run at either of two speeds.

    Args:
        slow: Samples per second in the slower mode.
        fast: In the faster one.
        slow_share: How often it is the slower one, 0..1.
        omp_wait_policy: The setting with which it was seen; empty: the library's default.
        who: Whose settings they are.
    """
    if not 0 < slow < fast:
        return None
    passive = ["settings.omp_wait_policy=passive"] if omp_wait_policy != "passive" else []
    words = " or ".join([*passive, "settings.intraop_threads=<fewer than there are cores>"])
    return Doubt(
        "two-modes",
        f"{who} runs at about {fast:.4g} or at about {slow:.4g} samples/s, the slower one "
        f"in {percent(slow_share)} of its processes; which one a trial meets is chance",
        "threads that spin while somebody else wants their core, or memory that lies on another "
        "socket",
        f"tune anew, from another baseline: the command of this study with {words} added to its "
        "words; or on a quieter machine",
    )


def few_rounds(
    n_rounds: int, name: str, speedup: float, more_time: str, capped: bool = False
) -> Doubt | None:
    """Too few rounds to prove what looks faster.

    Args:
        n_rounds: Rounds in which all were measured.
        name: Who came closest to beating the baseline, and is not proven to: "trial 7".
        speedup: Its ratio to the baseline.
        more_time: What to do for more of them.
        capped: Whether no more of them were allowed, and the time is not the reason.
    """
    if n_rounds == 0:
        sentence = "there was no time to prove anything"
    elif capped and speedup > 1 + SMALL:
        sentence = (
            f"the {count(n_rounds, 'round')} that confirm.max_rounds allows did not prove that "
            f"{name} is faster ({speedup:.2f}x)"
        )
    elif n_rounds < FEW_ROUNDS and speedup > 1 and not capped:
        sentence = (
            f"only {count(n_rounds, 'round')} fitted into the time, too few to prove that {name} "
            f"is faster ({speedup:.2f}x)"
        )
    else:
        return None
    cause = "the budget is short for trials as long as these"
    if capped:
        cause = "confirm.max_rounds ended the proof before its intervals were narrow"
    return Doubt("few-rounds", sentence, cause, more_time)


def _known_well(speedup: Rate) -> bool:
    """Whether the doubt is small beside the gain itself."""
    half = (speedup.high - speedup.low) / 2
    return speedup.low > 1 and half <= OF_THE_GAIN * (speedup.value - 1)
