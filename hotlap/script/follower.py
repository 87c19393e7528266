"""Followers of a script's training: one for each kind of job."""

from __future__ import annotations

import time
from typing import Any

import torch

from hotlap.errors import InvalidTrial
from hotlap.interpose.device import device_of, parameters_device
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.interposition import Interposition
from hotlap.interpose.listener import Listener
from hotlap.interpose.seen import LoaderSeen, Seen
from hotlap.job import EventLog, Job
from hotlap.scratch import Scratch
from hotlap.script.ending import Ending
from hotlap.script.heard import Heard
from hotlap.script.one_process import ENDED
from hotlap.script.skips import Skips
from hotlap.training import Units

ALIVE_SHARE = 0.1
"""Of the silence after which a trial is ended: so often at most a script is said to go on."""


class ScriptFollower:
    """Follows the units of a script's training (see hotlap.training.Follower).

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
        skips: Counts what the script's own GradScaler leaves out.
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
        self.skips = Skips(interposition.patches)
        self._devices: list[str] = []  # of parameters
        self._alive_s = ALIVE_SHARE * min(job.window.silence_s, job.window.first_step_s)
        self._told: float | None = None  # when it was told last; None before the first step

    @property
    def seen(self) -> Seen:
        """What was found in the script so far."""
        return self.interposition.seen

    @property
    def listener(self) -> Listener:
        """Who hears the script: the units, unless a follower wants to hear more."""
        return Heard(self.units, self)

    @property
    def device(self) -> torch.device:
        """Where the script trains, once an optimizer has stepped."""
        return device_of(self._devices, [root.device for root in self.seen.roots])

    def before_stepping(self, optimizer: Any) -> None:
        """An optimizer is about to step."""
        if self._told is None and self.ending.one.take(self.interposition.listen_no_more):
            self._devices.append(parameters_device(optimizer))

    def has_stepped(self, optimizer: Any) -> None:
        """It has."""
        if self._told is None:
            self._told = time.monotonic()
            if self.ending.is_forked:
                self.seen.own["process"] = self.seen.optimizers[0].where
            self.emit("training")
        self.skips.stepped(optimizer)

    def besides(self) -> None:
        """The script does something else than training, and would be silent for as long."""
        now = time.monotonic()
        if self._told is not None and now - self._told > self._alive_s:
            self._told = now
            self.emit("alive")

    def begin(self, loader: Any) -> None:
        """The first unit has begun."""

    def done(self, n_samples: int, loss: Any, batch: Any) -> None:
        """A unit is done."""

    def moved_on(self, seen: LoaderSeen) -> None:
        """The script trains on with another loader: what comes now is another training."""
        self.ending.guard(lambda: self._moved_on(seen))

    def steps_on(self) -> None:
        """One more step on the same batch: a unit that takes long is no silence."""
        self.besides()

    def alone(self) -> None:
        """The script asks its loader for nothing more."""

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
        if not self.seen.n_steps and not self.ending.one.take(lambda: None):
            raise InvalidTrial(ENDED)
        raise InvalidTrial(no_step(self.seen) or too_short(self.seen))


def no_step(seen: Seen) -> str:
    """Why no optimizer step was seen in a script that has ended; empty if one was."""
    if seen.n_steps:
        return ""
    if not seen.n_optimizers_made:
        return (
            "the script ended and no torch.optim optimizer was seen: hotlap tells training by its "
            "steps. Either it updates its parameters by itself (look for an option of the script "
            "that takes an optimizer), or it trains in processes that it starts by itself "
            "(mp.spawn, accelerate launch, deepspeed: see docs/scripts.md)"
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
