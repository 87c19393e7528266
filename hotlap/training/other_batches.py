"""Batches of other loaders than the one that trains: trained on as well, or an evaluation's.

Where several loaders are used together or in turns, the one that gave the last batch before the
first step makes the borders, and the samples of the others' batches count in the unit that trains
on them. Where only theirs are trained on from some time on, training has moved on to them.
"""

from __future__ import annotations

from hotlap.interpose.seen import LoaderSeen
from hotlap.training.candidates import Candidate
from hotlap.training.first_optimizer import MOVED_ON, MOVED_ON_S
from hotlap.training.passes import Passes


class OtherBatches:
    """Those since the last batch of the loader that trains.

    Args:
        passes: The last pass over each loader.

    Attributes:
        last: Who gave the last batch; None if it was the loader that trains, or an evaluation's.
        grown: What trains, if that was it: made anew with another batch size, or beside the other.
    """

    def __init__(self, passes: Passes) -> None:
        self._passes = passes
        self.last: LoaderSeen | None = None
        self.grown: Candidate | None = None
        self._n_samples = 0  # if they turn out to be trained on
        self._n_steps = 0  # in a row

    def gives(self, new: Candidate, trains: LoaderSeen | None) -> None:
        """Another loader has given a batch; `trains` is the one that does so far."""
        self._n_samples += new.unit.n_samples
        self.last = new.seen
        self.grown = new if trains is not None and new.seen.made_like(trains) else None

    def steps(self, last: LoaderSeen, asked_at: float, now: float) -> bool:
        """A step follows the last one's batch; returns whether training has moved on to them.

        The loader that trains was asked at `asked_at`, and not since.
        """
        self._n_steps += 1
        self._passes.of(last, now).trained = True
        return now - asked_at > MOVED_ON_S and self._n_steps >= MOVED_ON

    def looks(self) -> None:
        """A root is called without gradients."""
        if self.last is not None:
            self.forget()

    def ends(self, seen: LoaderSeen, now: float) -> None:
        """A pass over another loader is over: an evaluation if no step followed its last batch."""
        if seen is self.last and not self._passes.of(seen, now).trained:
            self.evaluated()

    def evaluated(self) -> None:
        """They were an evaluation's."""
        self.last = None
        self.forget()

    def forget(self) -> None:
        """So far their samples are none of the training's."""
        self._n_samples = 0

    def take(self) -> int:
        """Their samples, once: they are trained on."""
        n_samples, self._n_samples = self._n_samples, 0
        return n_samples

    def over(self) -> None:
        """The loader that trains has given a batch."""
        self.last, self.grown = None, None
        self._n_steps = 0

    def take_over(self) -> None:
        """The last one is the loader that trains from now on."""
        self.over()
        self.forget()
