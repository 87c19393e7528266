"""Lab: runs one settings value as a trial and shows it to the observer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hotlap.job import Job
from hotlap.settings import Settings
from runners.protocol import Run, Runner
from studies.protocols import Objective, Observer, Trial

Stop = Callable[[list[float], list[float]], bool]
"""Called after each block with the rates of warm-up and window so far; True stops the trial."""


class Lab:
    """Measures settings on one workload.

    Args:
        runner: Where trials run.
        job: The order but for the settings.
        folder: The study's folder; trial 7 gets `trials/0007` in it.
        objective: What is better.
        observer: Who wants to see it.
        first_number: The number of the next trial, above 0 in a resumed study.
    """

    def __init__(
        self,
        runner: Runner,
        job: Job,
        folder: Path,
        objective: Objective,
        observer: Observer,
        first_number: int = 0,
    ) -> None:
        self._runner = runner
        self._job = job
        self._folder = folder
        self._objective = objective
        self._observer = observer
        self.n_trials = first_number

    def facts(self, timeout_s: float) -> Run:
        """Ask a worker for the workload's facts; they stand in the run's `facts` event."""
        return self._runner.run(
            replace(self._job, kind="probe"), self._folder / "probe", lambda _: False, timeout_s
        )

    def measure(
        self,
        kind: str,
        settings: Settings,
        timeout_s: float,
        stop: Stop = lambda warmup, window: False,
    ) -> Trial:
        """Run one trial with `settings`."""
        number = self.n_trials
        self.n_trials += 1
        self._observer.trial_started(number, kind, settings)
        warmup: list[float] = []
        window: list[float] = []

        def watch(event: dict[str, Any]) -> bool:
            if event["event"] not in ("warmup", "block"):
                return False
            rate = event["samples"] / max(event["seconds"], 1e-9)
            (window if event["event"] == "block" else warmup).append(rate)
            self._observer.block(rate)
            return stop(warmup, window)

        job = replace(self._job, settings=settings.to_dict())
        run = self._runner.run(job, self._folder / "trials" / f"{number:04d}", watch, timeout_s)
        trial = Trial(number, kind, settings, run, self._value(run, warmup))
        self._observer.trial_ended(trial)
        return trial

    def _value(self, run: Run, warmup: list[float]) -> float:
        if run.measurement.blocks:
            return self._objective.value(run.measurement)
        # Stopped within the warm-up: the rate of its last block is all that is known.
        return warmup[-1] if run.outcome == "pruned" and warmup else 0.0
