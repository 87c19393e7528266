"""Losses of a script's first units, to compare settings: the answer to a job "losses".

As hotlap/losses.py does it for workloads, as far as a script lets it: all random numbers are seeded
before the script begins, at each pass's begin and each further batch, and again at each unit's
first forward pass, so that two runs meet the same ones, be they compiled or not. Its samples stay
its own: an augmented one has other random numbers in a worker process than in the script's own, and
then the batches differ, and studies/gate.py compares with the script's own way of loading. Where
samples are a function of their index alone (`repeatable`, see hotlap/script/repeating.py), they may
not differ.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from hotlap.errors import InvalidTrial
from hotlap.fingerprint import Fingerprint, fingerprint
from hotlap.interpose.listener import Listener
from hotlap.losses import STRIDE, distance, draw_as_plain, nudge, sampled
from hotlap.same_samples import seed_all
from hotlap.script.ahead import Ahead
from hotlap.script.follower import ScriptFollower
from hotlap.script.heard import Heard
from hotlap.script.repeating import repeats

MOST_AHEAD = 64
"""So many batches may be fetched before the first of them is trained on."""


class Losses(ScriptFollower):
    """Keeps the losses and a fingerprint of each unit's batch."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._dice = int(self.job.run.get("dice", 0))
        self._n_wanted = int(self.job.run["steps"])
        self._losses: list[float] = []
        self._batches: list[Fingerprint] = []
        self._given = Ahead[Fingerprint](MOST_AHEAD)
        self._parameters: list[torch.Tensor] = []
        self._before: list[torch.Tensor] = []
        self._first_update: float | None = None
        self._seeded = -1
        self._n_fetched = 0
        self._repeatable = False
        if "compile_mode" in self.imposed.names | self.imposed.override:
            draw_as_plain()
        seed_all(self.job.seed)

    @property
    def listener(self) -> Listener:
        """Hears each forward pass and each step before the units do."""
        return Heard(_Seeding(self), self)

    def seed_unit(self, module: Any) -> None:
        """A training forward pass begins."""
        n = len(self._losses)
        if self._seeded == n:
            return
        if self._seeded < 0 and self._dice:
            nudge(module, self.job.seed + self._dice)
        self._seeded = n
        seed_all(self.job.seed + self._dice + STRIDE * (n + 1))

    def begin(self, loader: Any) -> None:
        """The first unit has begun."""
        super().begin(loader)
        # Nobody asks a run with other dice.
        self._repeatable = loader is not None and not self._dice and repeats(loader)

    def seed_fetch(self) -> None:
        """A pass begins, or a further batch is asked for; the model may have drawn any number.

        Not from a thread that fetches ahead: the model draws its own meanwhile.
        """
        if self.units.thread.is_another():
            return
        self._n_fetched += 1
        seed_all(self.job.seed - STRIDE * self._n_fetched)

    def given(self, batch: Any) -> None:
        """A batch came; the script may write to it before its unit is done."""
        self._given.put(batch, fingerprint(batch))

    def before_step(self, optimizer: Any) -> None:
        """An optimizer is about to step."""
        if self._first_update is None and not self._before:
            groups = optimizer.param_groups
            self._parameters = [p for group in groups for p in group["params"]]
            self._before = sampled(self._parameters)

    def after_step(self) -> None:
        """It has."""
        if self._first_update is None:
            self._first_update = distance(self._before, sampled(self._parameters))

    def done(self, n_samples: int, loss: Any, batch: Any) -> None:
        """One more unit."""
        self.ending.guard(lambda: self._done(loss, batch))

    def script_ended(self) -> None:
        """Compare what there is."""
        if not self._losses:
            super().script_ended()
        self._answer()

    def _done(self, loss: Any, batch: Any) -> None:
        if loss is None:
            raise InvalidTrial("no backward pass from a scalar loss was seen in a step")
        self._losses.append(float(loss.double()))
        known = self._given.take(batch)
        self._batches.append(fingerprint(batch) if known is None else known)
        if len(self._losses) >= self._n_wanted or not math.isfinite(self._losses[-1]):
            self._answer()
        self.emit("step", step=len(self._losses), loss=self._losses[-1])

    def _answer(self) -> None:
        finite = all(bool(torch.isfinite(p.detach()).all()) for p in self._parameters)
        self.ending.answer(
            "losses",
            losses=self._losses,
            batches=self._batches,
            first_update=self._first_update,
            finite=finite,
            n_skipped_steps=self.skips.n_skipped,
            repeatable=self._repeatable,
            stale=next((one.stale for one in self.seen.training_loaders if one.stale), ""),
        )


class _Seeding:
    """Hands everything on to the units, and seeds before fetching and training."""

    def __init__(self, follower: Losses) -> None:
        self._follower = follower
        self._beginning: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._follower.units, name)

    def begins(self, seen: Any) -> None:
        self._beginning.add(id(seen))
        self._follower.seed_fetch()
        self._follower.units.begins(seen)

    def is_over(self, before: Any, seen: Any) -> None:
        if id(before) in self._beginning:
            self._beginning.remove(id(before))
            self._beginning.add(id(seen))
        self._follower.units.is_over(before, seen)

    def asks(self, seen: Any, iterator: Any) -> None:
        # With workers the order is decided as the pass begins, without them at its first batch.
        if id(seen) not in self._beginning:
            self._follower.seed_fetch()
        self._follower.units.asks(seen, iterator)

    def gives(self, seen: Any, loader: Any, iterator: Any, batch: Any) -> None:
        self._beginning.discard(id(seen))
        self._follower.given(batch)
        self._follower.units.gives(seen, loader, iterator, batch)

    def forward(self, module: Any, trains: bool) -> None:
        if trains or torch.is_grad_enabled():
            self._follower.seed_unit(module)
        self._follower.units.forward(module, trains)

    def steps(self, optimizer: Any) -> None:
        self._follower.before_step(optimizer)
        self._follower.units.steps(optimizer)

    def stepped(self, optimizer: Any) -> None:
        self._follower.after_step()
        self._follower.units.stepped(optimizer)
