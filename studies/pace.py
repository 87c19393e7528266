"""Pace: what a trial of the search is expected to take, and the most that it may.

Most trials of a study take about as long as each other. Two knobs have values that take many times
that: compilation, and starting workers anew instead of forking them. What these take is known once
one has been tried, and where that does not fit into the time that is left, something else is tried.

A trial of such a value may take two thirds of what is left of the search, any other one a third.
Were it a share of the whole budget, one compilation that does not end would leave nothing to find
anything else in.
"""

from __future__ import annotations

import statistics
from dataclasses import replace

from optuna.trial import FrozenTrial, TrialState

from hotlap.settings import Settings
from studies.changes import differing
from studies.lab import Lab

DEAR = ("compile_mode", "multiprocessing_context")
"""Knobs with values that take much longer than others to begin with."""

SHARE, DEAR_SHARE = 1 / 3, 2 / 3
"""No trial may take more than this share of the time that is left for searching; the second is that
of dear values, which come last (studies/descent.py) and may be what brings most."""

USUAL = 3.0
"""Unless usual trials take as long: so many times their wall clock is always allowed."""

TELLING = ("ok", "pruned", "timeout")
"""Outcomes of trials that took about what such a trial takes, or all that it was given."""


class Pace:
    """How long trials take.

    Args:
        lab: Knows what a usual one takes.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._base = Settings()
        self._walls: dict[tuple[str, object], list[float]] = {}

    def begin_at(self, base: Settings) -> None:
        """Say what the baseline is: what it takes itself is no exception."""
        self._base = base

    def remember(self, trial: FrozenTrial) -> None:
        """A trial of this or of an earlier session has ended."""
        if trial.state == TrialState.FAIL or trial.user_attrs["outcome"] not in TELLING:
            return
        for value in self._dear(Settings.from_dict(trial.user_attrs["settings"])):
            self._walls.setdefault(value, []).append(float(trial.user_attrs["wall_s"]))

    def expected_s(self, settings: Settings) -> float:
        """Wall clock that a trial of these settings is expected to take; 0 if nobody knows.

        Of each dear value the median, as of usual trials: the first compilation may take minutes,
        and the next one seconds, from the compiler's own cache. Another graph is in none.
        """
        known = [self._walls[value] for value in self._dear(settings) if value in self._walls]
        first_s = self._lab.typical_s() + self._lab.compiled.cold_s(settings)
        return max([first_s, *map(statistics.median, known)])

    def most_s(self, settings: Settings, left_s: float) -> float:
        """The most that their trial may take where `left_s` seconds are left for searching."""
        share = DEAR_SHARE if self._dear(settings) else SHARE
        return min(left_s, max(share * left_s, USUAL * self._lab.typical_s()))

    def cheap(self, settings: Settings) -> Settings:
        """The settings with the baseline's values in place of those that are dear."""
        back = {name: getattr(self._base, name) for name, _ in self._dear(settings)}
        return replace(settings, **back)

    def _dear(self, settings: Settings) -> list[tuple[str, object]]:
        changed = differing(settings, self._base)
        return [(name, getattr(settings, name)) for name in DEAR if name in changed]
