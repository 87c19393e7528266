"""Followers of a script's training: one for each kind of job."""

from __future__ import annotations

from typing import Any

from hotlap.errors import InvalidTrial
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.interposition import Interposition
from hotlap.interpose.listener import Listener
from hotlap.interpose.seen import LoaderSeen, Seen
from hotlap.interpose.units import Units
from hotlap.job import EventLog, Job
from hotlap.scratch import Scratch
from hotlap.script.ending import Ending


class ScriptFollower:
    """Follows the units of a script's training (see hotlap.interpose.unit.Follower).

    Args:
        job: What was asked for.
        imposed: What is in force.
        interposition: Sees the script.
        emit: Where events go.
        ending: Ends the process.
        started: When it began, in seconds of `time.monotonic`.

    Attributes:
        units: Tells the units to this follower.
        scratch: How the working folder is covered.
    """

    units: Units
    scratch = Scratch("nobody asked for it")

    def __init__(
        self,
        job: Job,
        imposed: Imposed,
        interposition: Interposition,
        emit: EventLog,
        ending: Ending,
        started: float,
    ) -> None:
        self.job = job
        self.imposed = imposed
        self.interposition = interposition
        self.emit = emit
        self.ending = ending
        self.started = started

    @property
    def seen(self) -> Seen:
        """What was found in the script so far."""
        return self.interposition.seen

    @property
    def listener(self) -> Listener:
        """Who hears the script: the units, unless a follower wants to hear more."""
        return self.units

    def begin(self, loader: Any) -> None:
        """The first unit has begun."""

    def done(self, n_samples: int, loss: Any, batch: Any) -> None:
        """A unit is done."""

    def moved_on(self, seen: LoaderSeen) -> None:
        """The script trains on with another loader: what comes now is another training."""
        self.ending.guard(lambda: self._moved_on(seen))

    def _moved_on(self, seen: LoaderSeen) -> None:
        try:
            self.script_ended()
        except InvalidTrial:
            raise InvalidTrial(
                "the script went on to train with another loader "
                f"({seen.where}) before its speed with the first one was known; let its first part "
                "be longer, or leave it out"
            ) from None

    def script_ended(self) -> None:
        """The script has ended, and this follower has not answered yet.

        Raises:
            InvalidTrial: What it has seen is too little.
        """
        raise InvalidTrial(no_step(self.seen) or too_short(self.seen))


def no_step(seen: Seen) -> str:
    """Why no optimizer step was seen in a script that has ended; empty if one was."""
    if seen.n_steps:
        return ""
    if not seen.n_optimizers_made:
        return (
            "the script ended and no torch.optim optimizer was seen: hotlap tells training by its "
            "steps. Either it updates its parameters by itself (look for an option of the script "
            "that takes an optimizer), or it trains in processes that it starts by itself (for "
            "torchrun see docs/scripts.md)"
        )
    return (
        "the script ended without one optimizer step; does it train with these arguments, and in "
        "this very process?"
    )


def too_short(seen: Seen) -> str:
    """The sentence about a script that has ended too early."""
    return (
        f"the script ended after {seen.n_steps} optimizer steps, before its speed was known; let "
        "it train for longer (more epochs, more data: hotlap ends each trial itself)"
    )


def kind_of(job: Job) -> type[ScriptFollower]:
    """The follower for this kind of job."""
    from hotlap.script.losses import Losses
    from hotlap.script.probe import Probe
    from hotlap.script.timer import Timer

    kinds: dict[str, type[ScriptFollower]] = {"window": Timer, "probe": Probe, "losses": Losses}
    return kinds[job.kind]
