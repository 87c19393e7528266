"""Which loaders' batches are followed by optimizer steps, and with how many steps each."""

from __future__ import annotations

from collections.abc import Callable

import torch

from hotlap.interpose.pace import Pace
from hotlap.interpose.seen import LoaderSeen


class Followed:
    """Counts the batches that loaders give, and the steps after them.

    Args:
        is_open: Whether a pass over a loader goes on.
    """

    def __init__(self, is_open: Callable[[LoaderSeen], bool]) -> None:
        self._is_open = is_open
        self._last: LoaderSeen | None = None  # who gave the last batch before a step
        self._trainable: set[int] = set()  # those of which a batch came with gradients enabled
        self._gave: dict[int, LoaderSeen] = {}  # since that step, the last one last
        self._open: set[int] = set()  # those whose pass had given batches before that step
        self._paces: dict[int, Pace] = {}

    def gives(self, seen: LoaderSeen) -> None:
        """A loader has given a batch."""
        seen.n_batches += 1
        self._last = self._last or seen
        if torch.is_grad_enabled():  # an evaluation has none
            self._trainable.add(id(seen))
            self._gave.pop(id(seen), None)
            self._gave[id(seen)] = seen
            self._pace(seen).gives()

    def ends(self, seen: LoaderSeen | None) -> None:
        """A pass over it has ended."""
        self._open.discard(id(seen))
        self._gave.pop(id(seen), None)

    def stepped(self) -> None:
        """An optimizer stepped: who gave the last batch trains, and who gives some for each step.

        A pass that began after the step before, or has ended, may have been an evaluation's.
        """
        if self._gave:
            *others, self._last = self._gave.values()
            for seen in others:
                if id(seen) in self._open:
                    self._step(seen)
        if self._last is not None and self._evaluates(self._last):
            self._last = None
        if self._last is not None:
            self._step(self._last)
        self._open |= self._gave.keys()
        self._gave.clear()

    def _step(self, seen: LoaderSeen) -> None:
        pace = self._pace(seen)
        pace.steps()
        seen.n_steps += 1
        seen.steps_per_batch = pace.steps_per_batch

    def _pace(self, seen: LoaderSeen) -> Pace:
        if (pace := self._paces.get(id(seen))) is None:  # asked at each batch and step
            pace = self._paces[id(seen)] = Pace()
        return pace

    def _evaluates(self, seen: LoaderSeen) -> bool:
        """Whether all its batches came without gradients, in passes that are over."""
        return id(seen) not in self._trainable and not seen.trains and not self._is_open(seen)
