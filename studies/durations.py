"""Durations: what a trial of some settings will take, by what trials have taken so far.

Settings that compile may take minutes the first time and seconds from then on, by the compiler's
own cache. So where settings have run several times the first run does not count; and where they
have run once, no more of their compilation is expected again than the least that a trial of their
mode has needed, as soon as there are two of them.
"""

from __future__ import annotations

import statistics
from collections import deque

from hotlap.settings import Settings
from runners.protocol import Run

LAST = 3
"""The longest of so many runs is expected: what a busy machine took long ago tells nothing."""

EAGER = "none"
"""The `compile_mode` in which nothing is compiled."""


class Durations:
    """Seconds of wall clock that trials took themselves, without the start of a server."""

    def __init__(self) -> None:
        self._ended: list[float] = []
        self._compiled: dict[str, list[float]] = {}
        self._first: dict[object, tuple[float, float]] = {}
        self._later: dict[object, deque[float]] = {}
        self._usual_before = 0.0
        self._before: dict[object, float] = {}

    def remember(self, settings: Settings, run: Run) -> None:
        """A trial of `settings` has ended well, or its time was over."""
        key, mode, compile_s = settings.key(), settings.compile_mode, 0.0
        if run.outcome == "ok":
            self._ended.append(run.own_s)
        if run.outcome == "ok" and mode != EAGER:
            compile_s = run.measurement.compile_s
            self._compiled.setdefault(mode, []).append(compile_s)
        if key in self._first:
            self._later.setdefault(key, deque(maxlen=LAST)).append(run.own_s)
        else:
            self._first[key] = run.own_s, compile_s

    def expect(self, seconds: float, settings: Settings | None = None) -> None:
        """What an earlier session took: for these settings, or for a usual trial."""
        if settings is None:
            self._usual_before = seconds
        else:
            self._before[settings.key()] = seconds

    def usual_s(self) -> float:
        """The median of those that ended well, before any an earlier session's; 0 without one."""
        return statistics.median(self._ended) if self._ended else self._usual_before

    def expected_s(self, settings: Settings) -> float:
        """What the next trial of `settings` will take; a usual one's time where nobody knows."""
        key, mode = settings.key(), settings.compile_mode
        if later := self._later.get(key):
            return max(later)
        if key in self._first:
            own_s, compile_s = self._first[key]
            of_mode = self._compiled.get(mode, [])
            again_s = min(of_mode) if len(of_mode) > 1 else compile_s
            return own_s - max(0.0, compile_s - again_s)
        return self._before.get(key, self.usual_s())
