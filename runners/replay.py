"""ReplayRunner: answers jobs from a recorded table, on a virtual clock.

A whole study takes a fraction of a second: its trials send the events of a worker, and all that
takes time (servers, start-up, compilation, warm-up, blocks) passes on the clock alone. What the
tuner itself thinks is not counted. Same seed, same study: each trial draws from a generator of its
own, so that two studies meet the same noise where they try the same settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from hotlap.job import Job
from hotlap.measurement import Block, Measurement
from hotlap.settings import Settings
from hotlap.warm_up import WarmUp
from hotlap.window_end import is_over
from runners.protocol import Outcome, Run, Watch
from runners.row import Row, environment
from runners.server import MAX_SERVERS
from runners.silence import patience_s, ran_out, too_silent
from runners.table import Table
from runners.virtual_trial import VirtualTrial

BUILT = ("started", "built")
"""The events before a trial's first step."""


@dataclass(frozen=True)
class Played:
    """A trial of a replayed study, in virtual seconds.

    Attributes:
        settings: What was tried.
        outcome: How it ended.
        start_s: When it was ordered.
        end_s: When nothing of it was left.
        samples_per_s: What its blocks said; 0 if there were none.
    """

    settings: Settings
    outcome: Outcome
    start_s: float
    end_s: float
    samples_per_s: float


class ReplayRunner:
    """Trials from a table.

    Args:
        table: What was recorded.
        seed: Of the noise.
        fresh: Whether each trial starts an interpreter of its own, and no fork server serves it.

    Attributes:
        trials: What was played, in order.
        ask_best: Asked before each trial what the study believes to be the best settings so far,
            None if it does not know any yet; not set, nobody is asked.
        beliefs: What it answered, each with the virtual second from which on it was so.
    """

    recorded = True
    """Whether trials are recorded ones: only windows can be asked for."""

    def __init__(self, table: Table, seed: int = 0, fresh: bool = False) -> None:
        self.table = table
        self._fresh = fresh
        self.trials: list[Played] = []
        self.ask_best: Callable[[], Settings | None] | None = None
        self.beliefs: list[tuple[float, Settings]] = []
        self._seed = seed
        self._now_s = 0.0
        self._servers = [environment(Settings())]  # the probe starts this one
        self._n_runs: dict[object, int] = {}

    def clock(self) -> float:
        """Virtual seconds since the runner was made."""
        return self._now_s

    @property
    def known(self) -> tuple[Settings, ...]:
        """The settings that the table has; of others it knows nothing."""
        return self.table.known

    def run(
        self,
        job: Job,
        folder: Path,
        watch: Watch,
        timeout_s: float,
        within_s: float | None = None,
    ) -> Run:
        """Answer `job`; see ProcessRunner.run. No folder is made.

        Settings that are not in the table are `invalid`, and so is a job that a table does not
        answer: it holds windows of whole trials, and the facts.
        """
        if job.kind == "probe":
            self._now_s += float(self.table.header.get("setup_s") or 0.0)
            facts = self.table.header.get("facts", {})
            event = {"event": "facts", "t": self._now_s, "facts": facts}
            watch(event)
            return Run("ok", Measurement(()), events=(event,), folder=folder)
        self.note_belief()
        settings = Settings.from_dict(job.settings)
        if reason := self._unknown(job, settings):
            return Run("invalid", Measurement(()), reason, folder=folder)
        trial = VirtualTrial(self.table, settings, self._chance(settings))
        played = _Playing(self, job, watch, timeout_s, within_s)
        served_s = self._served_s(trial)
        outcome, reason = played.play(trial, served_s)
        traceback = trial.row.data.get("traceback", "") if outcome == trial.row.outcome else ""
        measurement = Measurement.from_events(played.events, trial.row.data.get("gpu"))
        start_s, self._now_s = self._now_s, played.now_s
        self.trials.append(
            Played(settings, outcome, start_s, self._now_s, measurement.samples_per_s)
        )
        wall_s = self._now_s - start_s
        return Run(
            outcome,
            measurement,
            reason,
            traceback,
            tuple(played.events),
            folder,
            wall_s,
            served_s=min(served_s, wall_s),
            outside=outcome == "timeout" and 0 < wall_s <= served_s,
        )

    def note_belief(self) -> None:
        """Ask the study what it believes to be the best, and keep the answer if it is new.

        What a trial has told it shows when the next one is ordered, and no virtual time lies
        between the two.
        """
        best = self.ask_best() if self.ask_best else None
        known = self.beliefs[-1][1].key() if self.beliefs else None
        if best is not None and best.key() != known:
            self.beliefs.append((self._now_s, best))

    def close(self) -> None:
        """There is nothing to leave behind."""

    def __enter__(self) -> ReplayRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unknown(self, job: Job, settings: Settings) -> str:
        if job.kind != "window" or job.side != "both":
            what = job.kind if job.kind != "window" else f"{job.side} alone"
            return f"a recorded table holds whole trials only, and this asks for: {what}"
        if not self.table.of(settings):
            return (
                f"the table of {self.table.name} has no line with these settings; record it again "
                "with them in the space, or search what it has"
            )
        return ""

    def _chance(self, settings: Settings) -> Random:
        nth = self._n_runs[settings.key()] = self._n_runs.get(settings.key(), 0) + 1
        return Random(f"{self._seed} {nth} {settings.key()}")

    def launched_s(self, row: Row, key: str) -> float:
        """The row's `overhead_s` or `wall_s`, from when there is a server.

        A fresh trial has none: the start of an interpreter is its own, each time.
        """
        own_s = row.seconds(key) - self.table.served_s(row)
        return own_s + self.table.server_start_s * self._fresh

    def _served_s(self, trial: VirtualTrial) -> float:
        """The start of a server, where there is none with the trial's environment any more.

        Like ProcessRunner it keeps a few, and the one that was not used for longest makes room.
        """
        if self._fresh:
            return 0.0
        here = trial.row.environment
        known = here in self._servers
        self._servers = [*(other for other in self._servers if other != here), here][-MAX_SERVERS:]
        return 0.0 if known else self.table.server_start_s


class _Stopped(Exception):
    """The trial ends here."""

    def __init__(self, outcome: Outcome, reason: str = "") -> None:
        self.outcome = outcome
        self.reason = reason


class _Playing:
    """One trial as it goes: a worker's events at the times at which a worker sends them."""

    def __init__(
        self,
        runner: ReplayRunner,
        job: Job,
        watch: Watch,
        timeout_s: float,
        within_s: float | None,
    ) -> None:
        self._runner = runner
        self._job = job
        self._window = job.window
        self._watch = watch
        self.now_s = runner.clock()
        self._timeout_s = timeout_s
        self._deadline_s = self.now_s + (timeout_s if within_s is None else within_s)
        self.events: list[dict[str, Any]] = []

    def play(self, trial: VirtualTrial, served_s: float) -> tuple[Outcome, str]:
        """Play it to its end, or until the watch or the time stops it."""
        row = trial.row
        try:
            self._pass(served_s)
            began_s = self.now_s
            self._deadline_s = min(began_s + self._timeout_s, self._deadline_s)
            self._pass(self._runner.launched_s(row, "overhead_s"))
            self._emit({"event": "started"})
            self._pass(row.seconds("startup_s"))
            self._emit(row.event("built"))
            warm = row.event("warm")
            if not self._warm_up(trial):
                warm["reason"] = "cap"
            if row.outcome == "ok" or row.blocks:
                self._emit(warm)
            self._time(trial, warm["reason"] == "settled")
            if row.outcome != "ok":
                wall_s = self._runner.launched_s(row, "wall_s")
                self._pass(wall_s - (self.now_s - began_s))
                return row.outcome, str(row.data.get("reason", ""))
            self._pass(row.seconds("end_s"))
            self._emit(row.event("timed"))
            self._emit(row.event("finished"))
        except _Stopped as stopped:
            return stopped.outcome, stopped.reason
        return "ok", ""

    def _warm_up(self, trial: VirtualTrial) -> bool:
        """Whether all of the warm-up fitted under the window's cap."""
        warm_up = WarmUp(self._window.block_s, unit=1, n_prefetched=0)  # only its cap is asked for
        for i, block in enumerate(trial.warmup()):
            if i == 0 and (why := too_silent(self._job, BUILT, block["seconds"])):
                self._pass(patience_s(self._job, BUILT))
                raise _Stopped("timeout", why)
            self._pass(block["seconds"])
            self._emit({"event": "warmup", **block})
            warm_up.add(_block(block))
            over = warm_up.worked_s >= self._window.max_warmup_s
            if over and i + 1 < len(trial.row.warmup):
                return False
        counted_s = sum(block["seconds"] for block in trial.row.warmup)
        self._pass(trial.row.seconds("warmup_s") - counted_s)  # to the end of an epoch
        return True

    def _time(self, trial: VirtualTrial, settled: bool) -> None:
        """The window: as in a worker it ends early only if all that it measures has come to rest.

        Of a loader's queue the row's own blocks tell that, as many of them: drawn ones have none.
        """
        window, row = self._window, trial.row
        lost = row.seconds("lost_share")
        blocks: list[Block] = []
        seconds = 0.0
        for block in trial.blocks():
            self._pass(block["seconds"] * (1 + lost))
            self._emit({"event": "block", **block})
            if row.outcome != "ok":
                continue
            seconds += block["seconds"]
            blocks.append(_block(block))
            at_rest = partial(row.rests, len(blocks), window.precision)
            if is_over(window, blocks, seconds, settled, at_rest):
                return

    def _pass(self, seconds: float) -> None:
        if self.now_s + seconds > self._deadline_s:
            self.now_s = self._deadline_s
            raise _Stopped("timeout", ran_out(self._timeout_s))
        self.now_s += max(0.0, seconds)

    def _emit(self, event: Mapping[str, Any]) -> None:
        self.events.append({**event, "t": self.now_s})
        if self._watch(self.events[-1]):
            raise _Stopped("pruned")


def _block(drawn: Mapping[str, Any]) -> Block:
    return Block(drawn["steps"], drawn["samples"], drawn["seconds"], drawn["data_wait_s"])
