"""Endurance: would the full run have room for what grows with the steps of these settings?"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

from hotlap.measurement import Measurement
from studies.arm import Arm
from studies.growth import Growth, Limits, can_tell, growths

ASSUMED_STEPS = 100_000
"""Of a full run whose length was not said: what meets its limit later is told and refuses nothing.
A window has some hundred steps; a slope says little of what is a thousand times as far away."""

UNSAID = f"run.epochs= is not given, and {ASSUMED_STEPS:,} steps are assumed"


@dataclass(frozen=True)
class Endurance:
    """The full run: how long it is and what it may hold.

    Attributes:
        epochs: None if it was not said.
        n_samples: In an epoch; None takes what the loader says.
        limits: Of memory, files, /dev/shm.
    """

    epochs: float | None = None
    n_samples: int | None = None
    limits: Limits = field(default_factory=Limits)

    def growth(self, arm: Arm) -> list[Growth]:
        """What grows in most of an arm's trials, as its last trial shows it."""
        trials = measured(arm)
        found = [growths(m, self._n_steps(m), self.limits) for m in trials]
        named = [growth.what for growth in chain.from_iterable(found)]
        last = {growth.what: growth for growth in chain.from_iterable(found)}
        return [growth for what, growth in last.items() if 2 * named.count(what) > len(trials)]

    def outgrown(self, winner: Arm, baseline: Arm) -> str:
        """Why the full run would run out of something with the winner; empty if it would not.

        What grows with the baseline too is the user's own: it is told, and nothing is refused; so
        is what the baseline's trials were too short to show, and what reaches its limit after more
        steps than a run has whose length was not said (`ASSUMED_STEPS`).
        """
        own = {growth.what for growth in self.growth(baseline)}
        trials = measured(baseline)
        return "; ".join(
            growth.sentence if growth.n_steps else f"{growth.sentence} ({UNSAID})"
            for growth in self.growth(winner)
            if growth.reached_after_steps is not None
            and growth.reached_after_steps <= (growth.n_steps or ASSUMED_STEPS)
            and growth.what not in own
            and 2 * sum(can_tell(m, growth.what) for m in trials) > len(trials)
        )

    def _n_steps(self, measurement: Measurement) -> int | None:
        """Steps of the full run, as far as its length is known."""
        steps = float(measurement.n_epoch_steps or 0)
        if self.n_samples and measurement.samples_per_step:
            steps = self.n_samples / measurement.samples_per_step
        return round(self.epochs * steps) if self.epochs and steps else None


def measured(arm: Arm) -> list[Measurement]:
    """The measurements of an arm's trials that ended well."""
    return [t.run.measurement for t in arm.trials.values() if t.run.outcome == "ok"]
