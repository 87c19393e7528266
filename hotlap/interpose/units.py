"""Units: the training that a script does, told from everything else it does, on a clock of its own.

A unit is what training does with one batch: from asking for it until the next one is asked for.
Steps are not batches: a GAN steps twice on each, with accumulation one step has several. A script
that makes its batches itself has no such border; there a unit is one step of its first optimizer.

All time counts but what lies between the last thing that training did and the moment it goes on, if
meanwhile a pass ended, a root was called without gradients, or another loader's pass began and it
gave batches: that was an evaluation, a picture, a checkpoint. It is decided when training goes on:

- A batch that was not trained on, with a root called without gradients, belongs to an evaluation on
  the training loader itself.
- One that was not trained on yet, without such a call, was fetched ahead (some libraries do); it
  counts to the unit that follows.
"""

from __future__ import annotations

import math
import time
import weakref
from dataclasses import dataclass
from typing import Any, Protocol

from hotlap.feed import Clock
from hotlap.interpose.pass_size import PassSize
from hotlap.interpose.seen import LoaderSeen
from hotlap.queue_depth import ready_batches

OTHERS = 2
"""One batch of another loader may be half of what is trained on. So many in a row are not if its
pass began with them: two loaders that give some batches for each step began long before."""

MOVED_ON, MOVED_ON_S = 16, 5.0
"""After so many steps on other loaders' batches, and seconds without one of its own, the script has
done with the loader before. A short pass over another one belongs to those who take turns."""


class Follower(Protocol):
    """Who follows the units."""

    def begin(self, loader: Any) -> None:
        """The first unit has begun; `loader` is the DataLoader that trains, None without one."""

    def done(self, n_samples: int, loss: Any, batch: Any) -> None:
        """A unit is done: its samples, where its last backward pass began, its last batch."""

    def moved_on(self, seen: LoaderSeen) -> None:
        """The script trains on with another loader, and no longer with the one before."""


@dataclass
class Unit:
    """What the open unit has so far."""

    wait_s: float = 0.0
    now: float = 0.0
    n_batches: int = 0
    n_samples: int = 0
    n_passes: int = 0
    batch: Any = None


class Units:
    """A Listener that tells units to a follower, and the FeedState that a timer asks.

    Args:
        follower: Is told of units.
        clock: Seconds.

    Attributes:
        restarts: An epoch cannot be begun on purpose here.
        wait_s, now, n_taken, n_epochs, n_epoch_steps: As FeedState's, of the units that are done.
        loss: Where the last backward pass began.
    """

    restarts = False

    def __init__(self, follower: Follower, clock: Clock = time.perf_counter) -> None:
        self._follower = follower
        self._clock = clock
        self._paused_s = 0.0
        self._stopped_at: float | None = None
        # What trains: a loader, or without one an optimizer
        self._trains: LoaderSeen | None = None
        self._optimizer: weakref.ref[Any] | None = None
        self._candidate: tuple[LoaderSeen, Any] | None = None
        self._first_forward_at: float | None = None
        self._iterator: Any = None
        # The pass and the unit that are open
        self._pass_size: PassSize | None = None
        self._n_given = 0
        self._pass_ended = False
        self._asked_at = 0.0
        self._begins_late = False  # its iterator was made before an evaluation
        self._unit_at = 0.0
        self._unit = Unit()
        self._trained = False
        self._looked = False  # a root was called without gradients, before any training
        self._looks_always = False
        # What is not training
        self._idle = False  # as far as it is known, training has done with what it has
        self._other_at: float | None = None
        self._n_other = 0
        self._other_began = False
        self._n_foreign = 0  # steps on others' batches in a row
        self._foreign: LoaderSeen | None = None  # who gave the last batch, if another loader did
        self.wait_s = 0.0
        self.now = 0.0
        self.n_taken = 0
        self.n_epochs = 0
        self.n_epoch_steps: int | None = None
        self._n_before = 0
        self.loss: Any = None

    # FeedState

    def clock(self) -> float:
        """Seconds of training: the clock without what was not training."""
        now = self._clock() if self._stopped_at is None else self._stopped_at
        return now - self._paused_s

    @property
    def n_in_epoch(self) -> int:
        """Batches taken of the current epoch."""
        return self.n_taken - self._n_before

    def n_ready(self) -> int | None:
        """Batches that the training loader has ready, None if that cannot be told."""
        return None if self._iterator is None else ready_batches(self._iterator)

    def n_left(self) -> float:
        """Batches that the epoch still has; inf if unknown."""
        return math.inf if self.n_epoch_steps is None else self.n_epoch_steps - self.n_in_epoch

    def restart(self) -> None:
        """Not possible: the script begins its epochs itself."""
        raise NotImplementedError("whoever wants this asks `restarts` first")

    # Listener: loaders

    def begins(self, seen: LoaderSeen) -> None:
        """A pass begins."""
        now = self._clock()
        if self._is_other(seen):
            self._other_began |= self._idle
            self._other(now)
            return
        self._asked_at = now
        self._pass_size, self._n_given, self._pass_ended = None, 0, False
        self._begins_late = False

    def asks(self, seen: LoaderSeen) -> None:
        """A batch is asked for: the border between two units."""
        now = self._clock()
        if self._is_other(seen):
            self._other(now)
            return
        if self._n_given or self._begins_late:
            self._asked_at = now  # else it was when the pass began, workers' start included
        if not self._begun:
            return
        if self._trained:
            self._close()
        elif self._looked:  # an evaluation on the training loader
            self._stop(self._unit_at if self._other_at is None else self._other_at)
            self._other_at = None
            self._unit = Unit()
        self._looked = False
        if not self._unit.n_batches:
            self._unit_at = self._asked_at

    def gives(self, seen: LoaderSeen, loader: Any, iterator: Any, batch: Any) -> None:
        """A batch has come."""
        if self._is_other(seen):
            self._n_other += 1
            self._foreign = seen
            return
        self._foreign, self._n_foreign = None, 0
        now = self._clock()
        if not self._begun:
            self._candidate, self._unit = (seen, loader), Unit()
            self._unit_at = self._asked_at
        if self._pass_size is None:
            self._pass_size = PassSize(loader)
        unit = self._unit
        unit.wait_s += now - self._asked_at
        unit.now = now
        unit.n_batches += 1
        unit.n_samples += self._pass_size.of(self._n_given, batch)
        unit.n_passes += self._n_given == 0
        unit.batch = batch
        self._n_given += 1
        self._iterator = iterator
        self._idle = False

    def ends(self, seen: LoaderSeen) -> None:
        """A pass is over: what follows may be anything."""
        if self._begun and not self._is_other(seen):
            self._pass_ended = True
            self._over(self._clock())

    # Listener: the model and the optimizers

    def forward(self, module: Any, trains: bool) -> None:
        """A root is called."""
        self._begins_late |= not trains and not self._n_given
        if not self._begun:
            if trains and self._first_forward_at is None:
                self._first_forward_at = self._clock()
        elif trains and self._trains is not None and self._foreign is not None:
            pass  # an evaluation that forgets no_grad and eval; if it trains, a step will tell
        elif trains:
            self._goes_on()
            self._idle = self._trains is not None
        elif self._idle:
            if not self._looks_always:
                self._over(self._clock())
            self._looked = self._trains is None
        else:
            self._looked = True

    def backward(self, loss: Any) -> None:
        """A backward pass begins; without its graph the loss holds no memory."""
        self.loss = loss.detach() if getattr(loss, "numel", lambda: 0)() == 1 else None

    def steps(self, optimizer: Any) -> None:
        """An optimizer is about to step."""

    def stepped(self, optimizer: Any) -> None:
        """An optimizer stepped: it was training."""
        if not self._begun:
            self._begin(optimizer)
        self._goes_on()
        self._idle = True
        if self._trains is not None:
            if self._pass_ended:  # its last batches were fetched ahead
                self._over(self._clock())
            if self._foreign is not None:
                self._n_foreign += 1
                long = self._clock() - self._asked_at > MOVED_ON_S
                if long and self._n_foreign >= MOVED_ON:
                    self._follower.moved_on(self._foreign)
        elif self._is_first(optimizer):
            self._unit_at = self._clock()
            self._unit = Unit(0.0, self._unit_at, 1, 1)
            self._looks_always, self._looked = self._looked, False
            self._close()

    def trains(self, seen: LoaderSeen) -> bool:
        """Whether this loader is known to be the one that trains."""
        return seen is self._trains

    # Within

    @property
    def _begun(self) -> bool:
        return self._trains is not None or self._optimizer is not None

    def _is_other(self, seen: LoaderSeen) -> bool:
        return self._begun and seen is not self._trains

    def _is_first(self, optimizer: Any) -> bool:
        """Whether without a loader this optimizer's steps are the units."""
        first = self._optimizer() if self._optimizer is not None else None
        self._n_foreign = 0 if first is optimizer else self._n_foreign + 1
        long = self._clock() - self._unit_at > MOVED_ON_S
        if first is None or (long and self._n_foreign >= MOVED_ON):
            first, self._optimizer = optimizer, weakref.ref(optimizer)  # a fold, or another phase
        return first is optimizer

    def _begin(self, optimizer: Any) -> None:
        loader = None
        if self._candidate is not None:
            self._trains, loader = self._candidate
            self._candidate = None
            self.n_epoch_steps = PassSize(loader).n_batches
        else:
            self._optimizer = weakref.ref(optimizer)
            self._unit_at = self._first_forward_at or self._clock()
        self._stopped_at = self._unit_at  # a timer begins where the unit did
        self._follower.begin(loader)
        self._stopped_at = None

    def _goes_on(self) -> None:
        """Training goes on: since when?"""
        at = self._clock() if self._trains is None else self._unit_at
        if self._other_at is not None:
            if self._was_other() and at > self._other_at:
                self._stop(self._other_at)
            self._other_at = None
        self._n_other, self._other_began = 0, False
        if self._stopped_at is not None:
            self._paused_s += max(0.0, at - self._stopped_at)
            self._stopped_at = None
        self._trained = True

    def _other(self, now: float) -> None:
        """Something happens that may not be training."""
        if self._idle and self._other_at is None:
            self._other_at = now

    def _over(self, now: float) -> None:
        """Training has stopped for a while, that is sure."""
        if self._other_at is None:
            self._other_at = now
        self._n_other, self._other_began = OTHERS, True

    def _was_other(self) -> bool:
        """Whether what was done meanwhile is no training."""
        return self._n_other >= OTHERS and self._other_began

    def _stop(self, at: float) -> None:
        if self._stopped_at is None:
            self._stopped_at = at

    def _close(self) -> None:
        """The open unit is done."""
        if self._other_at is not None and self._was_other():
            self._stop(self._other_at)
            self._other_at = None
        unit, self._unit = self._unit, Unit()
        self.wait_s += unit.wait_s
        self.now = unit.now - self._paused_s
        if unit.n_passes:
            if self.n_epochs and self.n_in_epoch:
                self.n_epoch_steps = self.n_in_epoch
            self.n_epochs += unit.n_passes
            self._n_before = self.n_taken
        self.n_taken += unit.n_batches
        self._trained = False
        self._follower.done(unit.n_samples, self.loss, unit.batch)
