"""Units: the training that a script does, told from everything else it does, on a clock of its own.

A unit is what training does with one batch: from asking for it until the next one is asked for.
Steps are not batches: a GAN steps twice on each, with accumulation one step has several. A script
that makes its batches itself has no such border; there a unit is one step of its first optimizer.
So it is in one that asks its loader for nothing more, until it does (first_optimizer.py).

What time counts, training_clock.py says. A batch that was not trained on yet was fetched ahead, as
some libraries do, and counts to the unit that follows; but if meanwhile a root was called without
gradients, it belongs to an evaluation on the training loader itself. What batches of other loaders
mean, other_batches.py says.
"""

from __future__ import annotations

import time
import weakref
from typing import Any

from hotlap.feed import Clock
from hotlap.interpose.seen import LoaderSeen
from hotlap.training.aside import Aside
from hotlap.training.candidates import Candidate
from hotlap.training.first_optimizer import MOVED_ON_S
from hotlap.training.other_batches import OtherBatches
from hotlap.training.passes import Passes
from hotlap.training.taken import Taken
from hotlap.training.training_clock import TrainingClock
from hotlap.training.training_thread import TrainingThread
from hotlap.training.unit import Follower, Unit
from hotlap.training.who_trains import WhoTrains


class Units:
    """A Listener that tells units to a follower.

    Args:
        follower: Is told of units.
        clock: Seconds.

    Attributes:
        clock: Seconds of training.
        taken: What the units that are done have taken: the FeedState that a timer asks.
        thread: The one that trains.
        loss: Where the last backward pass from a single number began.
        done_at: When the last unit that is done had its end, in seconds of training.
    """

    def __init__(self, follower: Follower, clock: Clock = time.perf_counter) -> None:
        self._follower = follower
        self.clock = TrainingClock(clock)
        self.taken = Taken()
        self.done_at = 0.0
        self.thread = TrainingThread()
        self._who = WhoTrains()
        self._first_forward_at: float | None = None
        # The passes and the unit that are open
        self._passes = Passes()
        self._pass_ended = False
        self._asked_at = 0.0
        self._unit_at = 0.0
        self._unit = Unit()
        self._trained = False
        self._carries = False  # the time of training whose batches came before
        self._looked = False  # a root was called without gradients, before any training
        self._looks_always = False
        # What is not training
        self._aside = Aside()
        self._others = OtherBatches(self._passes)
        self.loss: Any = None

    # Listener: loaders

    def begins(self, seen: LoaderSeen) -> None:
        """A pass begins."""
        now = self.clock.now()
        self._passes.begins(seen, now)
        if self._who.is_other(seen):
            self.clock.other(now, begins=True)
            if self._in_hand:
                self._aside.begins(seen, now)
        else:
            self._asked_at, self._pass_ended = now, False

    def begun(self, seen: LoaderSeen, looked_s: float = 0.0) -> None:
        """Its iterator is made; meanwhile hotlap has looked at the dataset for so long."""
        now = self.clock.now()
        self._passes.of(seen, now).made(now - looked_s)

    def is_over(self, before: LoaderSeen, seen: LoaderSeen) -> None:
        """The last pass that began over `before` is one over `seen`."""
        self._passes.is_over(before, seen)
        if not self._who.is_other(seen):
            self._pass_ended = False

    def asks(self, seen: LoaderSeen, iterator: Any = None) -> None:
        """A batch is asked for: the border between two units."""
        now = self.clock.now()
        one = self._passes.of(seen, now)
        one.asks(now)
        if self._who.is_other(seen):
            self.clock.other(now)
            if self._in_hand:
                self._aside.asks(now)
            return
        self._asked_at = one.asked_at
        if not self._who.known:
            return
        if seen is self._who.rests:
            self._returns()
        if self._who.may_train:
            done = self._trained or self._carries
            self._who.optimizer.asked(self._unit.n_samples if done else 0)
        if self._trained:
            self._close_or_carry()
        elif self._looked:  # an evaluation on the training loader
            since = self.clock.other_at
            self.clock.stop(self._unit_at if since is None else since)
            self._others.forget()
            self._unit = Unit()
        elif self._carries and self._unit.n_batches:
            self._evaluated()
            self._goes_on()
            self._close()
        self._looked = False
        if not self._unit.n_batches:
            self._unit_at = self._asked_at
        if self.taken.stalls is not None and not self.thread.is_another():
            self.taken.stalls.begin()

    def gives(self, seen: LoaderSeen, loader: Any, iterator: Any, batch: Any) -> None:
        """A batch has come."""
        now = self.clock.now()
        one, beside = self._passes.gives(seen, iterator, now), self.thread.is_another()
        unit = one.gives(loader, batch, now, waits=not beside)
        current = None if iterator is None or beside else weakref.ref(iterator)
        if (other := self._who.is_other(seen)) or not self._who.known:
            new = Candidate(seen, loader, unit, one.asked_at, current)
            if other:
                self.clock.gives()
                if self._who.may_train:
                    self._others.gives(new, self._who.loader)
                return
            if not self._who.candidates.gives(new):
                return
        else:
            self._others.over()
            self._unit.add(unit)
            if self.taken.stalls is not None and not beside:
                self.taken.stalls.end()
        self.taken.comes_from(loader, current)
        self.clock.idle = False

    def ends(self, seen: LoaderSeen) -> None:
        """A pass is over: what follows may be anything."""
        if not self._who.known:
            self._who.candidates.ends(seen)
        elif not self._who.is_other(seen):
            self._pass_ended = True
            self.clock.over(self.clock.now())
        elif self._in_hand:
            self._aside.ends(seen)
        else:
            self._others.ends(seen, self.clock.now())

    # Listener: the model and the optimizers

    def forward(self, module: Any, trains: bool) -> None:
        """A root is called."""
        self.thread.trains()
        if not trains:
            self._others.looks()
            if self._in_hand:
                self._aside.looks()
        elif self._aside.sure:
            self._evaluated()
        if not self._who.known:
            if trains and self._first_forward_at is None:
                self._first_forward_at = self.clock.now()
        elif trains and self._who.loader is not None and self._others.last is not None:
            pass  # an evaluation that forgets no_grad and eval; if it trains, a step will tell
        elif trains:
            self._goes_on()
            self.clock.idle = self._who.loader is not None
        elif self.clock.idle:
            if not self._looks_always:
                self.clock.over(self.clock.now())
            self._looked = self._who.loader is None
        else:
            self._looked = True

    def backward(self, loss: Any) -> None:
        """A backward pass begins; without its graph the loss holds no memory."""
        self.thread.trains(surely=True)
        self._evaluated()
        if (number := _single_number(loss)) is not None:  # what comes after it may go in parts
            self.loss = number.detach()
        if self._who.loader is not None and self._others.last is None and self._unit.n_batches:
            self._goes_on()  # be it in evaluation mode, as where statistics are frozen
            self.clock.idle = True

    def steps(self, optimizer: Any) -> None:
        """An optimizer is about to step."""

    def stepped(self, optimizer: Any) -> None:
        """An optimizer stepped: it was training."""
        self.thread.trains()
        other = self._others.last
        if not self._who.known:
            self._begin(optimizer)
        elif self._who.loader is not None and other is not None:
            self._steps_on(other)
        self._goes_on()
        self.clock.idle = True
        if self._who.loader is not None:
            if self._pass_ended:  # its last batches were fetched ahead
                self.clock.over(self.clock.now())
            if other is None:
                self._again(optimizer)
        elif self._who.optimizer.is_it(optimizer, self.clock.now() - self._unit_at > MOVED_ON_S):
            self._unit_at = self.clock.now()
            self._unit = Unit(0.0, self._unit_at, 1, self._who.optimizer.samples)
            self._looks_always, self._looked = self._looked, False
            self._close()

    def trains(self, seen: LoaderSeen) -> bool:
        """Whether this loader is known to be the one that trains, and is not evaluated just now."""
        return seen is self._who.loader and self._who.may_train

    # Within

    def _begin(self, optimizer: Any) -> None:
        loader = None
        if (found := self._who.begin(optimizer)) is not None:
            loader, self._pass_ended = found.loader, found.over
            self._unit, self._unit_at = found.unit, found.unit_at
            beside = self.thread.is_another(found.thread)
            if beside and not self._unit.n_passes:
                self._unit.wait_s = 0.0
            self.taken.begin(loader)
            self.taken.comes_from(loader, None if beside else found.iterator)
        else:
            self._unit_at = self._first_forward_at or self.clock.now()
        self.clock.stop(self._unit_at)  # a timer begins where the unit did
        self._follower.begin(loader)
        self.clock.go_on(self._unit_at)

    def _steps_on(self, other: LoaderSeen) -> None:
        """A step follows a batch of a loader that is not the one that trains."""
        moved_on = self._others.steps(other, self._asked_at, self.clock.now())
        grown = self._others.grown
        if grown is None:
            if moved_on:
                self._follower.moved_on(other)
        elif moved_on or self._pass_ended:
            together = self._trained and not self._pass_ended  # its batches are in the open unit
            if self._trained:
                self._close_or_carry()
            self._who.loader, self._pass_ended = grown.seen, False
            self._others.take_over()
            self._unit = grown.unit
            self._unit_at = self.clock.now() if together else grown.unit_at
            self.taken.grew(grown.loader)

    def _again(self, optimizer: Any) -> None:
        """A step on a batch that was stepped on before, perhaps: does the script ask no more?"""
        first = self._who.optimizer
        if first.again(optimizer, self.clock()) > 1:
            self._follower.steps_on()
        if not first.goes_alone(lambda: not self._pass_ended and self.taken.may_go_on()):
            return
        # The open unit ends with the first of these steps; the others are of neither kind.
        self._unit.now += self.clock.leave_out(first.since)  # its last batch came before that
        if not self._unit.n_batches:
            self._unit = Unit(0.0, self.clock.now(), 1, first.samples)
        self._who.rest()
        self._pass_ended = self._looked = self._looks_always = False
        self.taken.rests()
        self._follower.alone()
        self._unit_at = self.clock.now()
        self.clock.go_on(self._unit_at)
        self._close()

    def _returns(self) -> None:
        """The script asks its loader again, and batches make the units as before."""
        self._who.come_back()
        self._unit, self._trained, self._looked, self._carries = Unit(), False, False, False
        self.taken.returns()

    def _goes_on(self) -> None:
        """Training goes on: since when?"""
        at = self.clock.now() if self._who.loader is None else self._unit_at
        if self.clock.stop_for_other(before=at):
            self._others.forget()
        self.clock.go_on(at)
        self._unit.n_samples += self._others.take()
        self._trained = True

    @property
    def _in_hand(self) -> bool:
        """Whether there is a batch that is not trained on yet."""
        return self._who.loader is not None and self._unit.n_batches > 0 and not self._trained

    def _evaluated(self) -> None:
        """The batch in hand is trained on now; meanwhile there may have been an evaluation."""
        if (seconds := self._aside.over(self.clock.now())) > 0.0:
            self.clock.left_out_s += seconds
            self._unit.now += seconds  # it came before that
            self._others.evaluated()

    def _close_or_carry(self) -> None:
        """The open unit was trained; without a batch of its own its time goes to the next one.

        So it is with a pass's last batches that were fetched ahead: they were units, or part of
        one, when the next batch was asked for.
        """
        if self._unit.n_batches:
            self._close()
            return
        if self.clock.stop_for_other():
            self._others.forget()
        self._trained, self._carries = False, True

    def _close(self) -> None:
        """The open unit is done."""
        if self.clock.stop_for_other():
            self._others.forget()
        # What is asked for, or left out, from here on is no part of it.
        at = self._unit_at if self._who.loader is None else self._asked_at
        self.done_at = min(at - self.clock.left_out_s, self.clock())
        unit, self._unit = self._unit, Unit()
        self.taken.add(unit, unit.now - self.clock.left_out_s)
        self._trained = self._carries = False
        self._follower.done(unit.n_samples, self.loss, unit.batch)


def _single_number(ends: Any) -> Any:
    """The loss among what a backward pass begins at: one tensor of one element, else None."""
    if isinstance(ends, (list, tuple)) and len(ends) == 1:
        (ends,) = ends
    return ends if getattr(ends, "numel", lambda: 0)() == 1 else None
