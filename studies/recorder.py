"""Recorder: measures every settings value of a space into a table that can be replayed.

No racing and no proof: each trial has its whole window. Trials come in random order, and repeats in
rounds over the whole space, so that a drift of the machine meets all settings alike. A recording
that was broken off goes on with what is missing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from hotlap.settings import Settings
from runners.protocol import Run
from studies.lab import Lab
from studies.protocols import Observer

TRIAL_S = 3600.0
"""A trial that hangs is ended by its runner, by the window's own limits; none takes an hour."""


class Rows(Protocol):
    """A table that is being recorded."""

    def n_recorded(self, settings: Settings) -> int:
        """How many lines it has of `settings`."""

    def append(self, settings: Settings, run: Run) -> None:
        """Keep what came of a trial with `settings`."""


def record(
    lab: Lab,
    wanted: Iterable[Settings],
    rows: Rows,
    observer: Observer,
    refuse: Callable[[Settings], str] = lambda settings: "",
    n_repeats: int = 1,
    n_trials: int | None = None,
    seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """Measure what is missing in `rows`. Returns the sentence that says why it ended.

    Args:
        lab: Measures settings.
        wanted: What to measure; equal ones count once. The first, the baseline, begins each
            round: a table without it cannot be replayed.
        rows: Where it is kept.
        observer: Is told how many are done and how long the rest takes.
        refuse: Why settings are known to fail before they are tried; empty if they are not.
        n_repeats: Processes for each settings value.
        n_trials: At most so many in this session; None for no limit.
        seed: Of the order within rounds.
        clock: Seconds.
    """
    every = list({settings.key(): settings for settings in wanted}.values())
    missing = _missing(every, rows, n_repeats, random.Random(seed))
    n_all = n_repeats * len(every)
    start_s, n_left, n_lost = clock(), len(missing), 0
    for n_done, settings in enumerate(missing[:n_trials], 1):
        if reason := refuse(settings):
            trial = lab.refuse("record", settings, reason)
        else:
            trial = lab.measure("record", settings, TRIAL_S)
        if trial.run.outside:  # it tells nothing of its settings
            n_lost += 1
        else:
            rows.append(settings, trial.run)
        n_left = len(missing) - n_done + n_lost
        left_s = (clock() - start_s) / n_done * n_left
        observer.note(f"{n_all - n_left} of {n_all} recorded, about {_span(left_s)} left")
    if n_left:
        return f"{n_all - n_left} of {n_all} recorded; the same command goes on with the rest"
    return f"all {n_all} recorded"


def _missing(
    every: list[Settings], rows: Rows, n_repeats: int, chance: random.Random
) -> list[Settings]:
    """What is still to be measured, in the order in which it is."""
    order: list[Settings] = []
    for n_before in range(n_repeats):
        turn = every[1:]
        chance.shuffle(turn)
        order += [s for s in (*every[:1], *turn) if rows.n_recorded(s) <= n_before]
    return order


def _span(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
