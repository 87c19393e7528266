"""Seconds of training: a clock that leaves out what was not training.

All time counts but what lies between the last thing that training did and the moment it goes on, if
meanwhile a pass ended, a root was called without gradients, or another loader's pass began and it
gave batches: that was an evaluation, a picture, a checkpoint. It is decided when training goes on:
until then it is written down since when, and what spoke for it.
"""

from __future__ import annotations

from hotlap.feed import Clock

OTHERS = 2
"""One batch of another loader may be half of what is trained on. So many in a row are not if its
pass began with them: two loaders that give some batches for each step began long before."""


class TrainingClock:
    """Tells the time of training.

    Args:
        clock: Seconds.

    Attributes:
        now: The clock itself.
        idle: Whether, as far as it is known, training has done with what it has.
        left_out_s: What was not training, so far.
        n_left_out: How many times something was left out.
    """

    def __init__(self, clock: Clock) -> None:
        self.now = clock
        self.idle = False
        self.left_out_s = 0.0
        self.n_left_out = 0
        self._stopped_at: float | None = None
        self._other_at: float | None = None
        self._n_other = 0
        self._other_began = False

    def __call__(self) -> float:
        """Seconds of training."""
        now = self.now() if self._stopped_at is None else self._stopped_at
        return now - self.left_out_s

    @property
    def other_at(self) -> float | None:
        """Since when something happens that may not be training."""
        return self._other_at

    def other(self, now: float, begins: bool = False) -> None:
        """Something happens that may not be training; `begins` if it is a pass's begin."""
        self._other_began |= begins and self.idle
        if self.idle and self._other_at is None:
            self._other_at = now

    def gives(self) -> None:
        """Another loader has given a batch."""
        self._n_other += 1

    def over(self, now: float) -> None:
        """Training has stopped for a while, that is sure."""
        if self._other_at is None:
            self._other_at = now
        self._n_other, self._other_began = OTHERS, True

    def stop(self, at: float) -> None:
        """Stand still since then."""
        if self._stopped_at is None:
            self._stopped_at = at
        self._other_at = None

    def stop_for_other(self, before: float = float("inf")) -> bool:
        """Stand still if what began before was no training; returns whether it was none."""
        at = self._other_at
        if at is None or at >= before or self._n_other < OTHERS or not self._other_began:
            return False
        self.stop(at)
        return True

    def leave_out(self, since: float) -> float:
        """Leave out what there was since then, in seconds of training; returns how many."""
        seconds = self() - since
        self.left_out_s += seconds
        return seconds

    def go_on(self, at: float) -> None:
        """Training has gone on since then."""
        if self._stopped_at is not None and at > self._stopped_at:
            self.left_out_s += at - self._stopped_at
            self.n_left_out += 1
        self._stopped_at = self._other_at = None
        self._n_other, self._other_began = 0, False
