"""Objectives by the name that the config gives them."""

from __future__ import annotations

from objectives.protocol import Objective
from objectives.run_time import RunTime
from objectives.throughput import Throughput


def make(name: str, epochs: float | None = None, n_samples: int | None = None) -> Objective:
    """The objective called `name`.

    Args:
        name: throughput or run_time.
        epochs: Of the full run; run_time needs it.
        n_samples: In an epoch of the full run; None takes what the loader says.

    Raises:
        ValueError: There is no such objective, or it lacks the epochs.
    """
    if name == "throughput":
        return Throughput()
    if name == "run_time" and epochs is not None:
        return RunTime(epochs, n_samples)
    raise ValueError(f"no objective {name!r} with {epochs} epochs")
