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

Where several loaders are used together or in turns, the one that gave the last batch before the
first step makes the borders, and the samples of the others' batches count in the unit that trains
on them.
"""

from __future__ import annotations

import time
import weakref
from typing import Any

from hotlap.feed import Clock
from hotlap.interpose.aside import Aside
from hotlap.interpose.candidates import Candidate, Candidates
from hotlap.interpose.pass_size import length
from hotlap.interpose.passes import Passes
from hotlap.interpose.seen import LoaderSeen
from hotlap.interpose.taken import Taken
from hotlap.interpose.training_clock import TrainingClock
from hotlap.interpose.unit import Follower, Unit

MOVED_ON, MOVED_ON_S = 16, 5.0
"""After so many steps on other loaders' batches, and seconds without one of its own, the script has
done with the loader before. A short pass over another one belongs to those who take turns."""


class Units:
    """A Listener that tells units to a follower.

    Args:
        follower: Is told of units.
        clock: Seconds.

    Attributes:
        clock: Seconds of training.
        taken: What the units that are done have taken: the FeedState that a timer asks.
        loss: Where the last backward pass began.
    """

    def __init__(self, follower: Follower, clock: Clock = time.perf_counter) -> None:
        self._follower = follower
        self.clock = TrainingClock(clock)
        self.taken = Taken()
        # What trains: a loader, or without one an optimizer
        self._trains: LoaderSeen | None = None
        self._optimizer: weakref.ref[Any] | None = None
        self._candidates = Candidates()
        self._grown: Candidate | None = None  # what trains, made anew with another batch size
        self._first_forward_at: float | None = None
        # The passes and the unit that are open
        self._passes = Passes()
        self._pass_ended = False
        self._asked_at = 0.0
        self._unit_at = 0.0
        self._unit = Unit()
        self._trained = False
        self._looked = False  # a root was called without gradients, before any training
        self._looks_always = False
        # What is not training
        self._aside = Aside()
        self._n_beside = 0  # samples of others' batches, if they turn out to be trained on
        self._n_foreign = 0  # steps on others' batches in a row
        self._foreign: LoaderSeen | None = None  # who gave the last batch, if another loader did
        self.loss: Any = None

    # Listener: loaders

    def begins(self, seen: LoaderSeen) -> None:
        """A pass begins."""
        now = self.clock.now()
        self._passes.begins(seen, now)
        if self._is_other(seen):
            self.clock.other(now, begins=True)
            if self._in_hand:
                self._aside.begins(seen, now)
        else:
            self._asked_at, self._pass_ended = now, False

    def asks(self, seen: LoaderSeen) -> None:
        """A batch is asked for: the border between two units."""
        now = self.clock.now()
        one = self._passes.of(seen, now)
        one.asks(now)
        if self._is_other(seen):
            self.clock.other(now)
            if self._in_hand:
                self._aside.asks(now)
            return
        self._asked_at = one.asked_at
        if not self._begun:
            return
        if self._trained:
            self._close()
        elif self._looked:  # an evaluation on the training loader
            since = self.clock.other_at
            self.clock.stop(self._unit_at if since is None else since)
            self._n_beside = 0
            self._unit = Unit()
        self._looked = False
        if not self._unit.n_batches:
            self._unit_at = self._asked_at

    def gives(self, seen: LoaderSeen, loader: Any, iterator: Any, batch: Any) -> None:
        """A batch has come."""
        now = self.clock.now()
        one = self._passes.of(seen, now)
        is_first = not one.n_given
        n_samples = one.gives(loader, batch)
        unit = Unit(now - one.asked_at, now, 1, n_samples, int(is_first), batch)
        current = None if iterator is None else weakref.ref(iterator)
        new = Candidate(seen, loader, unit, one.asked_at, current)
        if self._is_other(seen):
            self.clock.gives()
            self._n_beside += n_samples
            self._foreign, self._grown = seen, None
            if self._trains is not None and seen.resized(self._trains):
                self._grown = new
            return
        if not self._begun:
            if not self._candidates.gives(new):
                return
        else:
            self._foreign, self._n_foreign, self._grown = None, 0, None
            self._unit.add(unit)
        self.taken.iterator = current
        self.clock.idle = False

    def ends(self, seen: LoaderSeen) -> None:
        """A pass is over: what follows may be anything."""
        if not self._begun:
            self._candidates.ends(seen)
        elif not self._is_other(seen):
            self._pass_ended = True
            self.clock.over(self.clock.now())
        elif self._in_hand:
            self._aside.ends(seen)

    # Listener: the model and the optimizers

    def forward(self, module: Any, trains: bool) -> None:
        """A root is called."""
        if not trains:
            self._passes.wait()
            if self._foreign is not None:
                self._n_beside = 0
            if self._in_hand:
                self._aside.looks()
        elif self._aside.sure:
            self._evaluated()
        if not self._begun:
            if trains and self._first_forward_at is None:
                self._first_forward_at = self.clock.now()
        elif trains and self._trains is not None and self._foreign is not None:
            pass  # an evaluation that forgets no_grad and eval; if it trains, a step will tell
        elif trains:
            self._goes_on()
            self.clock.idle = self._trains is not None
        elif self.clock.idle:
            if not self._looks_always:
                self.clock.over(self.clock.now())
            self._looked = self._trains is None
        else:
            self._looked = True

    def backward(self, loss: Any) -> None:
        """A backward pass begins; without its graph the loss holds no memory."""
        self._evaluated()
        self.loss = loss.detach() if getattr(loss, "numel", lambda: 0)() == 1 else None
        if self._trains is not None and self._foreign is None and self._unit.n_batches:
            self._goes_on()  # be it in evaluation mode, as where statistics are frozen
            self.clock.idle = True

    def steps(self, optimizer: Any) -> None:
        """An optimizer is about to step."""

    def stepped(self, optimizer: Any) -> None:
        """An optimizer stepped: it was training."""
        if not self._begun:
            self._begin(optimizer)
        elif self._trains is not None and self._foreign is not None:
            self._steps_on(self._foreign)
        self._goes_on()
        self.clock.idle = True
        if self._trains is not None:
            if self._pass_ended:  # its last batches were fetched ahead
                self.clock.over(self.clock.now())
        elif self._is_first(optimizer):
            self._unit_at = self.clock.now()
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
        long = self.clock.now() - self._unit_at > MOVED_ON_S
        if first is None or (long and self._n_foreign >= MOVED_ON):
            first, self._optimizer = optimizer, weakref.ref(optimizer)  # a fold, or another phase
        return first is optimizer

    def _begin(self, optimizer: Any) -> None:
        loader = None
        if (found := self._candidates.take()) is not None:
            self._trains, loader = found.seen, found.loader
            self._unit, self._unit_at = found.unit, found.unit_at
            self.taken.iterator = found.iterator
            self.taken.n_epoch_steps = length(loader)
        else:
            self._optimizer = weakref.ref(optimizer)
            self._unit_at = self._first_forward_at or self.clock.now()
        self.clock.stop(self._unit_at)  # a timer begins where the unit did
        self._follower.begin(loader)
        self.clock.go_on(self._unit_at)

    def _steps_on(self, foreign: LoaderSeen) -> None:
        """A step follows a batch of a loader that is not the one that trains."""
        self._n_foreign += 1
        long = self.clock.now() - self._asked_at > MOVED_ON_S
        moved_on = long and self._n_foreign >= MOVED_ON
        grown = self._grown
        if grown is None:
            if moved_on:
                self._follower.moved_on(foreign)
        elif moved_on or self._pass_ended:
            together = self._trained and not self._pass_ended  # its batches are in the open unit
            if self._trained:
                self._close()
            self._trains, self._foreign, self._grown = grown.seen, None, None
            self._n_foreign, self._n_beside, self._pass_ended = 0, 0, False
            self._unit = grown.unit
            self._unit_at = self.clock.now() if together else grown.unit_at
            self.taken.grew(length(grown.loader))

    def _goes_on(self) -> None:
        """Training goes on: since when?"""
        at = self.clock.now() if self._trains is None else self._unit_at
        if self.clock.stop_for_other(before=at):
            self._n_beside = 0
        self.clock.go_on(at)
        self._unit.n_samples += self._n_beside
        self._n_beside = 0
        self._trained = True

    @property
    def _in_hand(self) -> bool:
        """Whether there is a batch that is not trained on yet."""
        return self._trains is not None and self._unit.n_batches > 0 and not self._trained

    def _evaluated(self) -> None:
        """The batch in hand is trained on now; meanwhile there may have been an evaluation."""
        if (seconds := self._aside.over(self.clock.now())) > 0.0:
            self.clock.left_out_s += seconds
            self._unit.now += seconds  # it came before that
            self._foreign, self._n_beside = None, 0

    def _close(self) -> None:
        """The open unit is done."""
        if self.clock.stop_for_other():
            self._n_beside = 0
        unit, self._unit = self._unit, Unit()
        self.taken.add(unit, unit.now - self.clock.left_out_s)
        self._trained = False
        self._follower.done(unit.n_samples, self.loss, unit.batch)
