"""Payback: from which run length on a setting has earned what it costs before the first step.

Training N samples takes N / rate seconds. A setting that costs `extra_s` once and makes training
`ratio` times as fast has paid when N / rate_with + extra_s = N / rate_without. With it, that is
after N / rate_with = extra_s / (ratio - 1) seconds of training.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from reports.arm import Arm
from reports.text import duration, number

WORTH_A_WORD_S = 1.0
"""One-off costs that differ by less are not spoken of."""


@dataclass(frozen=True)
class Payback:
    """When a setting has paid for itself.

    Attributes:
        extra_s: Seconds that it costs once, before the first step; below 0 it saves them.
        ratio: How many times as fast training is with it.
        seconds: Of training with it until both are even; 0 if it is ahead from the first step on,
            infinite if it never earns its cost.
        steps: The same in steps; not a number if the step's time is unknown.
        epochs: The same in epochs of the full run; not a number if their length is unknown.
    """

    extra_s: float
    ratio: float
    seconds: float
    steps: float
    epochs: float

    @property
    def only_before(self) -> bool:
        """Whether it is ahead before that time and behind after it: cheaper, but slower."""
        return self.extra_s < 0 and self.ratio < 1

    @property
    def words(self) -> str:
        """`after 0:40 of training (1,025 steps, 0.32 epochs)`, `never` or `at once`."""
        if self.seconds == 0:
            return "at once"
        if math.isinf(self.seconds):
            return "never"
        counted = [
            f"{number(n, 3) if n < 1000 else f'{n:,.0f}'} {name}"
            for n, name in ((self.steps, "steps"), (self.epochs, "epochs"))
            if math.isfinite(n)
        ]
        more = f" ({', '.join(counted)})" if counted else ""
        when = "in runs of less than" if self.only_before else "after"
        return f"{when} {duration(self.seconds)} of training{more}"

    def within(self, epochs: float | None) -> bool | None:
        """Whether it pays in a run of so many epochs; None if that cannot be told."""
        if epochs is None:
            return None
        if self.seconds == 0 or math.isinf(self.seconds):
            return self.seconds == 0
        if not math.isfinite(self.epochs):
            return None
        return (epochs < self.epochs) is self.only_before


def payback(
    with_it: Arm, without: Arm, ratio: float, n_epoch_samples: float | None = None
) -> Payback:
    """When the setting that tells the two arms apart has paid for itself.

    Args:
        with_it: The winner.
        without: The same with the setting put back.
        ratio: How many times as fast the first one trains, from paired rounds; more than 0.
        n_epoch_samples: Samples of an epoch of the full run; None takes the study's own.
    """
    extra_s = one_off_s(with_it, without)
    seconds = _even_s(extra_s, ratio)
    steps = seconds / with_it.step_time_s
    own = with_it.samples_per_step * (with_it.n_epoch_steps or math.nan)
    epochs = steps * with_it.samples_per_step / (n_epoch_samples or own)
    return Payback(extra_s, ratio, seconds, steps, epochs)


def one_off_s(with_it: Arm, without: Arm) -> float:
    """Seconds that the first arm takes longer than the second one until it is under way.

    Start-up and compilation; a start-up that was not measured is taken as equal.
    """
    started_s = with_it.startup_s - without.startup_s
    compiled_s = with_it.compile_s - without.compile_s
    return compiled_s + (started_s if math.isfinite(started_s) else 0.0)


def _even_s(extra_s: float, ratio: float) -> float:
    """Seconds of training until both are even; see the module's text."""
    if extra_s <= 0 and ratio >= 1:
        return 0.0
    if extra_s >= 0 and ratio <= 1:
        return math.inf
    return extra_s / (ratio - 1)
