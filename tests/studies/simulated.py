"""A machine that exists in numbers only: a whole study replays on it in well under a second.

`SimulatedRunner` answers jobs with the events that a worker would send, on a virtual clock that
the budget shares. How fast settings are, and which of them fail, is a function of the settings.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hotlap.job import Job
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from runners.protocol import Outcome, Run, Watch
from runners.silence import ran_out
from runners.trial import KILLED

BLOCK_S = 0.5
N_WARMUP = 4
STARTUP_S = 2.0

FAILURES: dict[str, str] = {
    "oom": "CUDA out of memory. Tried to allocate 20.00 GiB",
    "crash": "the worker ended with SIGSEGV after its event 'built'",
    "invalid": "prefetch_factor needs workers",
    "diverged": "the loss became nan",
}


class Clock:
    """Virtual seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Stopped(Exception):
    """The trial ends here: by the watch or by its time."""

    def __init__(self, outcome: Outcome, reason: str = "") -> None:
        self.outcome = outcome
        self.reason = reason


class SimulatedRunner:
    """Runs jobs on a virtual clock.

    Args:
        clock: Advanced by whatever a trial does.
        rate: Samples per second of settings, in truth.
        fails: How settings fail: "oom", "crash", "invalid", "diverged", "hang", or "" if they do
            not. A failure comes after one block of the window; a hang before the first step.
        process_noise: Relative standard deviation between processes that run the same.
        block_noise: The same between blocks of one process.
        process: How fast a process of settings happens to be, 1 is normal; by default a normal
            variable with the `process_noise`.
        drift: The machine's speed at a time (seconds), 1 is normal.
        seed: Of the noise.
        interrupt_at: Ctrl-C in the trial with this number of order.
        compile_s: Seconds that settings compile for, in their first block.
        serves_s: Seconds that the start of a server takes for them.
        is_killed: Whether the server is killed in the middle of their trial.
        peak_bytes: What they take of a device at their peak, if there is one.
        gpu: What the GPU's watch says of each trial.
        n_epoch_steps: Steps in an epoch.
        known: All that it can be asked for; None: anything.
    """

    def __init__(
        self,
        clock: Clock,
        rate: Callable[[Settings], float],
        fails: Callable[[Settings], str] = lambda settings: "",
        process_noise: float = 0.0,
        block_noise: float = 0.005,
        drift: Callable[[float], float] = lambda t: 1.0,
        seed: int = 0,
        interrupt_at: int | None = None,
        compile_s: Callable[[Settings], float] = lambda settings: 0.0,
        n_epoch_steps: int | None = None,
        serves_s: Callable[[Settings], float] = lambda settings: 0.0,
        is_killed: Callable[[Settings], bool] = lambda settings: False,
        peak_bytes: Callable[[Settings], int | None] = lambda settings: None,
        process: Callable[[Settings, random.Random], float] | None = None,
        gpu: dict[str, float] | None = None,
        known: Sequence[Settings] | None = None,
    ) -> None:
        self._clock = clock
        self._rate = rate
        self._fails = fails
        self._block_noise = block_noise
        self._drift = drift
        self._random = random.Random(seed)
        self._interrupt_at = interrupt_at
        self._compile_s = compile_s
        self._n_epoch_steps = n_epoch_steps
        self._serves_s = serves_s
        self._is_killed = is_killed
        self._peak_bytes = peak_bytes
        self._process = process or (lambda settings, chance: 1 + chance.gauss(0, process_noise))
        self._gpu = gpu
        self.known = known
        self.ran: list[Settings] = []

    def clock(self) -> float:
        return self._clock()

    def run(
        self,
        job: Job,
        folder: Path,
        watch: Watch,
        timeout_s: float,
        within_s: float | None = None,
    ) -> Run:
        settings = Settings.from_dict(job.settings)
        if len(self.ran) == self._interrupt_at:
            folder.mkdir(parents=True)
            raise KeyboardInterrupt
        self.ran.append(settings)
        assert self.known is None or settings.key() in [one.key() for one in self.known]
        folder.mkdir(parents=True)
        start = self._clock.now
        events: list[dict[str, Any]] = []
        outcome: Outcome = "ok"
        reason = ""
        over = start + (timeout_s if within_s is None else within_s)
        served_s = min(self._serves_s(settings), over - start)
        self._clock.now += served_s
        if self._clock.now >= over:
            late = "the fork server did not say 'ready' in time"
            lost = {"wall_s": served_s, "served_s": served_s, "outside": True}
            return Run("timeout", Measurement(()), late, folder=folder, **lost)
        deadline = min(self._clock.now + timeout_s, over)

        def spend(seconds: float) -> None:
            if self._clock.now + seconds > deadline:
                self._clock.now = deadline
                raise Stopped("timeout", ran_out(timeout_s))
            self._clock.now += seconds

        def emit(event: str, **values: Any) -> None:
            events.append({"event": event, "t": self._clock.now, **values})
            if watch(events[-1]):
                raise Stopped("pruned")

        try:
            self._train(settings, job, spend, emit)
        except Stopped as stopped:
            outcome, reason = stopped.outcome, stopped.reason
        return Run(
            outcome,
            Measurement.from_events(events, self._gpu),
            reason,
            "Traceback of the worker" if outcome not in ("ok", "pruned") else "",
            tuple(events),
            folder,
            self._clock.now - start,
            served_s=served_s,
            outside=reason == KILLED,
        )

    def close(self) -> None:
        pass

    def _train(
        self,
        settings: Settings,
        job: Job,
        spend: Callable[[float], None],
        emit: Callable[..., None],
    ) -> None:
        fault = self._fails(settings)
        process = self._process(settings, self._random)
        spend(STARTUP_S)
        emit(
            "built",
            startup_s=STARTUP_S,
            num_workers=settings.num_workers,
            n_epoch_steps=self._n_epoch_steps,
        )
        if self._is_killed(settings):
            raise Stopped("crash", KILLED)
        if fault == "hang":
            spend(job.window.first_step_s)
            raise Stopped("timeout", f"no step was done within {job.window.first_step_s:g} s")
        compile_s = self._compile_s(settings)
        spend(compile_s)
        for i in range(N_WARMUP):
            block = self._block(settings, process, spend)
            emit("warmup", **{**block, "seconds": block["seconds"] + (0.0 if i else compile_s)})
        emit("warm", warmup_s=N_WARMUP * BLOCK_S, reason="settled", compile_s=compile_s)
        for i in range(max(2, round(job.window.max_s / BLOCK_S))):
            if fault and i == 1:
                raise Stopped(fault, FAILURES[fault])  # type: ignore[arg-type]
            emit("block", **self._block(settings, process, spend))
        peak = self._peak_bytes(settings)
        emit("finished", peak_device_bytes=peak, peak_host_bytes=2**30, n_skipped_steps=0)

    def _block(
        self, settings: Settings, process: float, spend: Callable[[float], None]
    ) -> dict[str, Any]:
        rate = self._rate(settings) * process * self._drift(self._clock.now)
        spend(BLOCK_S)
        samples = rate * BLOCK_S * (1 + self._random.gauss(0, self._block_noise))
        return {"steps": 10, "samples": samples, "seconds": BLOCK_S}


class Watching:
    """An observer that remembers what it was shown."""

    def __init__(self) -> None:
        self.trials: list[Any] = []
        self.notes: list[str] = []

    def stage(self, name: str, detail: str = "") -> None:
        self.notes.append(name)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def trial_started(self, number: int, kind: str, settings: Settings) -> None:
        self.started = number

    def block(self, samples_per_s: float) -> None:
        assert samples_per_s >= 0

    def trial_ended(self, trial: Any) -> None:
        assert trial.number == self.started
        self.trials.append(trial)
