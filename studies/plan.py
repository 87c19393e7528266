"""Plan: what the user says about a study's course."""

from __future__ import annotations

from dataclasses import dataclass, field

from studies.endurance import Endurance


@dataclass(frozen=True)
class Plan:
    """What the user says about the course.

    Attributes:
        n_trials: Trials of the search in all; None for as many as fit.
        n_best: So many of the best trials are confirmed.
        max_rounds: The most confirm rounds.
        guided: Whether the sampler is helped by descent at first.
        sampler: Its name, for the screen.
        seed: Of the order within rounds.
        full_run: What it may hold, and for how long.
        diagnose: Whether the two sides can be measured.
        shares_cores: Whether the model computes on the cores that loader workers have, too.
        own_threads: How many threads PyTorch takes inside one operator by itself; None if unknown.
    """

    n_trials: int | None = None
    n_best: int = 2
    max_rounds: int = 40
    guided: bool = True
    sampler: str = "tpe"
    seed: int = 0
    full_run: Endurance = field(default_factory=Endurance)
    diagnose: bool = True
    shares_cores: bool = False
    own_threads: int | None = None
