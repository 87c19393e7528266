"""Candidates: which of the loaders that gave batches before the first step trains."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

import torch

from hotlap.interpose.seen import LoaderSeen
from hotlap.training.unit import Unit


@dataclass
class Candidate:
    """A loader that trains if a step follows its last batch.

    Attributes:
        seen: The loader.
        loader: The DataLoader itself.
        unit: What a unit that began with it has.
        unit_at: When that began.
        iterator: Of its pass; not kept alive, or its end would not show (nor in
            hotlap/interpose/workers.py).
        with_gradients: Whether one of its batches came with gradients enabled.
        over: Whether its pass has ended.
        thread: In which it gave its last batch.
    """

    seen: LoaderSeen
    loader: Any
    unit: Unit
    unit_at: float
    iterator: weakref.ref[Any] | None = None
    with_gradients: bool = True
    over: bool = False
    thread: int = field(default_factory=threading.get_ident)

    @property
    def evaluates(self) -> bool:
        """Whether all its batches came without gradients, in a pass that is over."""
        gone = self.iterator is not None and self.iterator() is None
        return not self.with_gradients and (self.over or gone)


class Candidates:
    """Loaders that gave batches before the first step, the likeliest last."""

    def __init__(self) -> None:
        self._found: list[Candidate] = []

    def gives(self, new: Candidate) -> bool:
        """A batch has come; returns whether it may be one that is trained on."""
        self._found = [one for one in self._found if not one.evaluates]
        new.with_gradients = torch.is_grad_enabled()
        if self._found and not new.with_gradients:
            return False  # an evaluation at the first loop's top
        new.with_gradients |= any(
            one.seen is new.seen and one.with_gradients for one in self._found
        )
        self._found = [*(one for one in self._found if one.seen is not new.seen), new]
        return True

    def ends(self, seen: LoaderSeen) -> None:
        """A pass is over."""
        for one in self._found:
            one.over |= one.seen is seen
        self._found.sort(key=lambda one: one.seen is not seen)

    def take(self) -> Candidate | None:
        """The one that trains, now that there was a step; None if no loader does."""
        found = [one for one in self._found if not one.evaluates]
        self._found.clear()
        return found[-1] if found else None
