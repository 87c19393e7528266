"""Runner: runs one job and hands its events on as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from hotlap.job import Job
from hotlap.measurement import Measurement
from hotlap.settings import Settings

Outcome = Literal["ok", "pruned", "oom", "timeout", "crash", "invalid", "diverged"]
"""How a trial ended."""

FAILED: tuple[Outcome, ...] = ("oom", "timeout", "crash", "invalid", "diverged")

Watch = Callable[[dict[str, Any]], bool]
"""Called with each event; True stops the trial, whose outcome is then `pruned`."""


@dataclass(frozen=True)
class Run:
    """What came of a job.

    Attributes:
        outcome: How it ended.
        measurement: What was measured, also by a trial that was stopped midway.
        reason: One readable line for any outcome but ok; empty for ok.
        traceback: The worker's own traceback, or the end of its log, for a failure.
        events: All events, raw; of a full run the last one alone, since it may tell its steps for
            weeks, and the watch has seen them.
        folder: The trial's folder.
        wall_s: From the order until the last process of the trial was gone.
        process_start_s: What interpreter and imports take before a process without a fork server
            is where the trial began; 0 where the trial paid for them itself.
        served_s: Seconds of `wall_s` in which a server was started for it, no fault of the trial's.
        outside: Whether what ended it lies outside of the trial: its server did not start in time,
            did not answer, could not fork, or was killed. Then it tells nothing of the settings.
    """

    outcome: Outcome
    measurement: Measurement
    reason: str = ""
    traceback: str = ""
    events: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    folder: Path | None = None
    wall_s: float = 0.0
    process_start_s: float = 0.0
    served_s: float = 0.0
    outside: bool = False

    @property
    def own_s(self) -> float:
        """Wall clock of the trial itself, without the start of a server for it."""
        return self.wall_s - self.served_s


class Runner(Protocol):
    """Anything that can run a job: processes on this machine, or a recorded table.

    Attributes:
        recorded: True if trials are played from a table: it knows windows only, no other kinds of
            jobs.
        known: The settings that it can answer, each once; None: whatever it is asked.
    """

    @property
    def recorded(self) -> bool: ...  # noqa: D102

    @property
    def known(self) -> Sequence[Settings] | None: ...  # noqa: D102

    def clock(self) -> float:
        """Seconds, on the clock on which trials take their time."""

    def run(
        self,
        job: Job,
        folder: Path,
        watch: Watch,
        timeout_s: float,
        within_s: float | None = None,
    ) -> Run:
        """Run `job` in `folder` and return what came of it; never raises for a trial's failure.

        Args:
            job: What to do.
            folder: The trial's folder.
            watch: Sees each event.
            timeout_s: Seconds that the trial itself may take.
            within_s: Seconds until it is over, whatever has to be started for it first; None:
                `timeout_s`.

        Raises:
            NoRoom: The disk is full: the next trial would end in the same way.
        """

    def close(self) -> None:
        """Leave nothing behind."""
