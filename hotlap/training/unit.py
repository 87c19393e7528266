"""Unit: what training does with one batch; and who follows the units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from hotlap.interpose.seen import LoaderSeen


@dataclass(slots=True)
class Unit:
    """What it has so far: waits and batches; `now` is when the last one came."""

    wait_s: float = 0.0
    now: float = 0.0
    n_batches: int = 0
    n_samples: int = 0
    n_passes: int = 0
    batch: Any = None

    def add(self, more: Unit) -> None:
        """One more batch has come."""
        self.wait_s += more.wait_s
        self.now, self.batch = more.now, more.batch
        self.n_batches += more.n_batches
        self.n_samples += more.n_samples
        self.n_passes += more.n_passes


class Follower(Protocol):
    """Who follows the units."""

    def begin(self, loader: Any) -> None:
        """The first unit has begun; `loader` is the DataLoader that trains, None without one."""

    def done(self, n_samples: int, loss: Any, batch: Any) -> None:
        """A unit is done: its samples, where its last backward pass began, its last batch."""

    def moved_on(self, seen: LoaderSeen) -> None:
        """The script trains on with another loader, and no longer with the one before."""

    def steps_on(self) -> None:
        """One more step on the same batch: a unit may take long, and the script trains."""

    def alone(self) -> None:
        """The script asks its loader for nothing more: the units to come are its steps."""
