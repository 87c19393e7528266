"""Lab: runs one settings value as a trial and shows it to the observer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hotlap.errors import StudyFailed, UserInputError
from hotlap.job import Job
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from runners.protocol import Run, Runner
from studies.compiled import Compiled
from studies.durations import Durations
from studies.enough import as_typed
from studies.out_of_memory import out_of_memory
from studies.protocols import Objective, Observer, Trial

Stop = Callable[[list[float], list[float]], bool]
"""Called after each block with the objective's values of the warm-up's and the window's blocks so
far, each as if the trial had this one alone; True stops the trial."""


AGAIN = "that lies outside of the trial and tells nothing of its settings: once more"
"""What is said where a run is done again whose server failed (see runners.protocol.Run.outside)."""


class Lab:
    """Measures settings on one workload.

    Args:
        runner: Where trials run.
        job: The order but for the settings.
        folder: The study's folder; trial 7 gets `trials/0007` in it.
        objective: What is better.
        observer: Who wants to see it.

    Attributes:
        sign: 1 if a larger value is better, -1 if a smaller one is.
        folder: The study's.
        compiled: What compilation costs; all measurements say what it would have without the
            trials before.
    """

    def __init__(
        self,
        runner: Runner,
        job: Job,
        folder: Path,
        objective: Objective,
        observer: Observer,
    ) -> None:
        self._runner = runner
        self._job = job
        self.folder = folder
        self._objective = objective
        self._observer = observer
        self.sign = 1 if objective.direction == "maximize" else -1
        self._start = runner.clock()
        self._next = _next_number(folder)
        self._durations = Durations()
        self.compiled = Compiled()
        self._spread = 0.0
        self._batch_size: int | None = None
        self._stage: tuple[str, str] | None = None  # in which nothing has run yet

    def facts(self, timeout_s: float, fresh: bool = False) -> dict[str, Any]:
        """The workload's facts, asked of a worker, since the tuner never runs user code.

        See hotlap/inspect_workload.py for what they are.

        Args:
            timeout_s: Wall clock that the probe may take.
            fresh: Whether an earlier probe has found that a script needs interpreters of its own.

        Raises:
            UserInputError: The workload's arguments do not fit, such as a folder that is missing.
            StudyFailed: The workload cannot be built, or a step fails: so would every trial.
        """
        if fresh:
            self._begin_fresh()
        job = replace(self._job, kind="probe")

        def watch(event: dict[str, Any]) -> bool:
            if event["event"] == "preparing":
                self._observer.preparing(event["what"], event["n_done"], event["n_wanted"])
            return False

        run = self._run(job, self.folder / "probe", watch, timeout_s)
        if run.outcome == "crash" and self._is_worth_another(run, timeout_s - run.wall_s):
            timeout_s -= run.wall_s
            run = self._run(job, self.folder / "probe", watch, timeout_s)
        if run.outcome == "invalid":
            raise UserInputError(f"{run.reason}\nNo trial was run.")
        if run.outcome == "timeout" and run.wall_s >= timeout_s:
            raise StudyFailed(
                f"the budget is too short: it left {timeout_s:.0f} s for the probe, which builds "
                "the workload and does a few steps, and these did not end by then. No trial was "
                "run; each would take at least as long, so give the study some thirty times that: "
                f"budget={as_typed(30 * timeout_s)}"
            )
        sizes = [event["batch_size"] for event in run.events if event["event"] == "probing"]
        self._batch_size = next(iter(sizes), None)
        if run.outcome == "oom":
            raise StudyFailed(self.out_of_memory(run))
        if run.outcome != "ok":
            raise StudyFailed(
                f"{run.traceback.strip()}\n\n"
                f"The workload fails with its own settings, before any is changed: {run.reason} "
                f"({run.outcome}). No trial was run. The worker's log: {run.folder}/worker.log"
            )
        facts: dict[str, Any] = run.events[-1]["facts"]
        if (names := facts.pop("environment_written", [])) and not facts["fresh"]:
            self._observer.note(
                f"in the script: something that it imports writes {', '.join(names)}, which torch "
                "reads at its own import; so each trial gets an interpreter of its own, which "
                "takes some seconds more"
            )
            self._begin_fresh()
            return self.facts(timeout_s - run.wall_s)
        facts.setdefault("process_start_s", run.process_start_s)  # a recorded table has its own
        return facts

    def out_of_memory(self, run: Run) -> str:
        """What to say of a run of the user's own settings that had too little memory."""
        return out_of_memory(run, self._batch_size, self._job.script is not None)

    def own_way(
        self, own: dict[str, Any], settings: Mapping[str, Any], fresh: bool = False
    ) -> Settings:
        """The baseline of a script: its `own` settings, with the user's `settings` over them.

        From now on only what differs from its own is imposed on it.

        Args:
            own: As the probe found them.
            settings: The user's.
            fresh: Whether the probe found, too, that each trial needs an interpreter of its own.
        """
        if fresh:
            self._begin_fresh()
        self._job = replace(self._job, script={**(self._job.script or {}), "own": own})
        return Settings.from_dict({**own, **settings})

    def _begin_fresh(self) -> None:
        self._job = replace(self._job, script={**(self._job.script or {}), "fresh": True})

    def measure(
        self,
        kind: str,
        settings: Settings,
        timeout_s: float,
        stop: Stop | None = None,
        side: str = "both",
        within_s: float | None = None,
    ) -> Trial:
        """Run one trial with `settings`; once more if its server failed, which is nobody's fault.

        Args:
            kind: What it is for: "baseline", "search", "confirm", ...
            settings: What to try.
            timeout_s: Wall clock that it may take.
            stop: Whether it has lost already; None: nobody asks, and no block's value is made.
            side: "both", or "loader" or "compute" alone (see hotlap.job.Job).
            within_s: Wall clock in which it has to be over, the start of a server for it included;
                None: `timeout_s`.
        """
        within_s = timeout_s if within_s is None else within_s
        trial = self._measure(kind, settings, timeout_s, stop, side, within_s)
        if self._is_worth_another(trial.run, left_s := within_s - trial.run.wall_s):
            timeout_s = min(timeout_s, left_s)
            trial = self._measure(kind, settings, timeout_s, stop, side, left_s)
        return trial

    def _measure(
        self,
        kind: str,
        settings: Settings,
        timeout_s: float,
        stop: Stop | None,
        side: str,
        within_s: float,
    ) -> Trial:
        number = self._begin(kind, settings)
        events: list[dict[str, Any]] = []
        warmup: list[float] = []
        window: list[float] = []

        def watch(event: dict[str, Any]) -> bool:
            if event["event"] not in ("warmup", "block"):
                events.append(event)  # what a value is made of besides blocks
                return False
            self._observer.block(event["samples"] / max(event["seconds"], 1e-9))
            if side != "both" or stop is None:
                return False
            (window if event["event"] == "block" else warmup).append(
                self._alone(settings, events, event)
            )
            return stop(warmup, window)

        precision = max(self._job.window.precision, self._spread)
        timed = replace(self._job.window, precision=precision)
        job = replace(self._job, settings=settings.to_dict(), window=timed, side=side)
        run = self._run(job, self._trial_folder(number), watch, timeout_s, within_s)
        over = run.own_s >= timeout_s or run.wall_s >= within_s
        ran_out = run.outcome == "timeout" and over
        if side == "both" and (run.outcome == "ok" or ran_out) and not run.outside:
            self._durations.remember(settings, run)
        measured = run.measurement
        run = replace(run, measurement=self.compiled.from_nothing(settings, measured))
        if side == "both":
            self.compiled.remember(settings, measured)
        # One side alone has no value: nobody trains like that.
        value = self._value(run, warmup) if side == "both" else run.measurement.samples_per_s
        trial = Trial(number, kind, settings, run, value, ran_out, self.now())
        self._observer.trial_ended(trial)
        return trial

    def block_values(self, measurement: Measurement) -> list[float]:
        """The objective's value of each block, as if the trial had this one alone."""
        alone = [replace(measurement, blocks=(block,)) for block in measurement.blocks]
        return [self._objective.value(one) for one in alone]

    def losses(self, settings: Settings, n_steps: int, timeout_s: float, dice: int = 0) -> Run:
        """Losses of `n_steps` steps to compare them; the last event has them (hotlap/losses.py).

        It is no trial: nothing is timed, and it gets a folder of its own in `numerics`. Other
        `dice` show how far the same settings may come out from themselves.
        """
        run = {"steps": n_steps, "dice": dice}
        job = replace(self._job, kind="losses", settings=settings.to_dict(), run=run)
        self._show_stage()
        found = self._losses(job, timeout_s)
        if self._is_worth_another(found, timeout_s - found.wall_s):
            found = self._losses(job, timeout_s - found.wall_s)
        return found

    def _losses(self, job: Job, timeout_s: float) -> Run:
        folder = self.folder / "numerics"
        number = sum(1 for _ in folder.glob("[0-9]*"))
        return self._run(job, folder / f"{number:04d}", lambda event: False, timeout_s)

    def refuse(self, kind: str, settings: Settings, reason: str) -> Trial:
        """A trial with the outcome `invalid` that is not run, because `reason` is known before."""
        number = self._begin(kind, settings)
        folder = self._trial_folder(number)
        folder.mkdir(parents=True)
        run = Run("invalid", Measurement(()), reason, folder=folder)
        trial = Trial(number, kind, settings, run, 0.0)
        self._observer.trial_ended(trial)
        return trial

    def knows(self, settings: Settings) -> bool:
        """Whether these can be tried at all: a recorded table may not have them."""
        return self._known is None or settings.key() in self._known

    @cached_property
    def _known(self) -> set[object] | None:
        known = self._runner.known
        return None if known is None else {settings.key() for settings in known}

    def stage(self, name: str, detail: str = "") -> None:
        """A stage begins; it is shown as soon as something runs in it, or else never."""
        self._stage = (name, detail)

    def note(self, text: str) -> None:
        """A sentence for the user."""
        self._observer.note(text)

    def now(self) -> float:
        """Seconds since this lab was opened, on the clock on which trials take their time."""
        return self._runner.clock() - self._start

    def typical_s(self) -> float:
        """Wall clock of a trial that ended well, the median of this session's.

        Before any, what an earlier session's took (see `expect`); 0 if there was none.
        """
        return self._durations.usual_s()

    def expected_s(self, settings: Settings) -> float:
        """Wall clock that the next trial of these very settings will take; 0 if nobody knows.

        Without compiling what no trial has compiled (see `compiled`).
        """
        return self._durations.expected_s(settings)

    def expect(self, wall_s: float, settings: Settings | None = None) -> None:
        """Say what a trial took in an earlier session: one of `settings`, or else a usual one."""
        self._durations.expect(wall_s, settings)

    def expect_noise(self, spread: float) -> None:
        """Say how much processes that run the same differ, a relative standard deviation.

        From now on a window ends as soon as its interval is as narrow as that: what is in doubt
        then is its process's own, and only another process tells more.
        """
        self._spread = spread

    def _alone(
        self, settings: Settings, events: list[dict[str, Any]], block: dict[str, Any]
    ) -> float:
        one = Measurement.from_events([*events, {**block, "event": "block"}])
        return self._objective.value(self.compiled.from_nothing(settings, one))

    def _is_worth_another(self, run: Run, left_s: float) -> bool:
        """Whether a run's server failed, and in `left_s` it can be done once more; that is told."""
        again = run.outside and left_s > self.typical_s()
        if again:
            self.note(AGAIN)
        return again

    def _show_stage(self) -> None:
        if self._stage is not None:
            self._observer.stage(*self._stage)
        self._stage = None

    def _run(
        self,
        job: Job,
        folder: Path,
        watch: Callable[[dict[str, Any]], bool],
        timeout_s: float,
        within_s: float | None = None,
    ) -> Run:
        was_there = self.folder.is_dir()
        run = self._runner.run(job, folder, watch, timeout_s, within_s)
        if was_there and not self.folder.is_dir():
            raise StudyFailed(
                f"a trial has removed the study's folder {self.folder}, and with it what was "
                "measured; a script that empties a folder around it needs scratch=true and a "
                "machine that allows it (docs/scripts.md), or another folder to run in"
            )
        return run

    def _begin(self, kind: str, settings: Settings) -> int:
        number = self._next
        self._next += 1
        self._show_stage()
        self._observer.trial_started(number, kind, settings)
        return number

    def _trial_folder(self, number: int) -> Path:
        return self.folder / "trials" / f"{number:04d}"

    def _value(self, run: Run, warmup: list[float]) -> float:
        if run.measurement.blocks:
            return self._objective.value(run.measurement)
        # Stopped within the warm-up: the rate of its last block is all that is known.
        return warmup[-1] if run.outcome == "pruned" and warmup else 0.0


def _next_number(folder: Path) -> int:
    """The number of the next trial: 0 in a new study's folder."""
    names = [trial.name for trial in (folder / "trials").glob("[0-9]*")]
    numbers = [int(name) for name in names if name.isdigit()]
    return max(numbers, default=-1) + 1
