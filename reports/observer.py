"""Shows a study to whoever wants to see it: the progress display and the tracking."""

from __future__ import annotations

import math
from typing import Any, Protocol

from hotlap.settings import Settings
from reports.progress import BASELINE, Progress
from reports.tracking import Tracking, trial_record
from runners.protocol import Run

ALONE = ("loader alone", "model alone")
"""Kinds of trials that measure one side (see studies/diagnosis.py)."""


class Tried(Protocol):
    """A trial that has ended (see studies/protocols.py)."""

    @property
    def number(self) -> int: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def settings(self) -> Settings: ...  # noqa: D102
    @property
    def run(self) -> Run: ...  # noqa: D102
    @property
    def value(self) -> float: ...  # noqa: D102


class StudyObserver:
    """Hands on what happens in a study.

    Args:
        study: The study's name in the tracking.
        progress: What a person sees.
        tracking: What is kept.
        timed: Whether a trial's value is the seconds of the full run.
    """

    def __init__(
        self, study: str, progress: Progress, tracking: Tracking, timed: bool = False
    ) -> None:
        self._study = study
        self._progress = progress
        self._tracking = tracking
        self._timed = timed
        self._baseline: float | None = None
        self._measured = False  # in this session

    def began_with(self, samples_per_s: float | None) -> None:
        """The baseline's rate in an earlier session, None if there is none.

        Speedups are over it until this session has run the baseline: the machine may have changed.
        """
        self._baseline = samples_per_s

    def stage(self, name: str, detail: str = "") -> None:
        """A stage begins."""
        self._progress.stage(name, detail)

    def note(self, text: str) -> None:
        """A sentence for the user."""
        self._progress.note(text)

    def preparing(self, what: str, n_done: int, n_wanted: int) -> None:
        """The workload prepares its data."""
        self._progress.preparing(what, n_done, n_wanted)

    def trial_started(self, number: int, kind: str, settings: Settings) -> None:
        """A trial begins."""
        self._progress.trial_started(number, settings)

    def block(self, samples_per_s: float) -> None:
        """A block was timed."""
        self._progress.block(samples_per_s)

    def trial_ended(self, trial: Tried) -> None:
        """A trial has ended: print its line and keep its record."""
        run = trial.run
        measured = run.measurement.samples_per_s
        if trial.kind in BASELINE and run.outcome == "ok" and not self._measured:
            self._baseline, self._measured = measured, True
        if not measured and run.measurement.warmup:  # stopped before its window
            last = run.measurement.warmup[-1]
            measured = last.samples / last.seconds
        rate = measured if run.outcome in ("ok", "pruned") and measured > 0 else None
        facts: dict[str, Any] = {"settings": trial.settings, "wall_s": run.wall_s}
        self._progress.trial_ended(
            trial.number, run.outcome, rate, reason=run.reason, kind=trial.kind, **facts
        )
        if trial.kind in ALONE:
            return  # nobody trains like that, and no list of trials should hold it
        self._tracking.trial(
            trial_record(
                self._study,
                trial.number,
                outcome=run.outcome,
                measurement=run.measurement,
                reason=run.reason,
                kind=trial.kind,
                baseline_samples_per_s=self._baseline,
                run_time_s=self._run_time_s(trial),
                **facts,
            )
        )

    def _run_time_s(self, trial: Tried) -> float | None:
        if not self._timed:
            return None
        return trial.value if trial.run.outcome == "ok" else math.inf
