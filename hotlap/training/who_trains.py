"""Who trains: the loader whose batches are trained on, or without one the first optimizer."""

from __future__ import annotations

from typing import Any

import torch

from hotlap.interpose.seen import LoaderSeen
from hotlap.training.candidates import Candidate, Candidates
from hotlap.training.first_optimizer import FirstOptimizer


class WhoTrains:
    """Known from the first step on.

    Attributes:
        loader: Whose batches are trained on; None without one, and while it rests.
        rests: That loader, while the script asks it for nothing more.
        optimizer: The first one.
        candidates: The loaders that gave batches before the first step.
    """

    def __init__(self) -> None:
        self.loader: LoaderSeen | None = None
        self.rests: LoaderSeen | None = None
        self.optimizer = FirstOptimizer()
        self.candidates = Candidates()
        self._with_gradients = True  # asks with gradients enabled for what is trained on

    @property
    def known(self) -> bool:
        """Whether there was a step."""
        return self.optimizer.known

    @property
    def may_train(self) -> bool:
        """Whether a batch that comes now may be trained on; an evaluation has no gradients."""
        return torch.is_grad_enabled() or not self._with_gradients

    def is_other(self, seen: LoaderSeen) -> bool:
        """Whether it is known that this loader is another one, or is used for something else."""
        if seen is self.loader or seen is self.rests:
            return not self.may_train
        return self.known

    def begin(self, optimizer: Any) -> Candidate | None:
        """An optimizer stepped for the first time; returns the loader that trains, if one does."""
        self.optimizer.begin(optimizer)
        found = self.candidates.take()
        if found is not None:
            self.loader, self._with_gradients = found.seen, found.with_gradients
        return found

    def rest(self) -> None:
        """The loader is asked for nothing more."""
        self.loader, self.rests = None, self.loader

    def come_back(self) -> None:
        """It is asked again."""
        self.loader, self.rests = self.rests, None
        self.optimizer.returns()
