"""What one unit of training has so far, and which loader may train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hotlap.interpose.seen import LoaderSeen


@dataclass
class Unit:
    """Its waits and batches; `now` is when the last one came."""

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


@dataclass
class Candidate:
    """A loader that trains if a step follows its last batch: what a unit that began with it has."""

    seen: LoaderSeen
    loader: Any
    unit: Unit
    unit_at: float
