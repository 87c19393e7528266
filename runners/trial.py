"""Follows one trial: its events as they come, its deadlines, and how it ended."""

from __future__ import annotations

import math
import signal
import time
from pathlib import Path
from typing import Any, cast

from hotlap.errors import NoRoom
from hotlap.job import EventReader, Job, Kept
from hotlap.room import takes_no_more
from runners.protocol import Outcome, Watch
from runners.server import BURY_S, POLL_S, Ended, NoAnswer, NoFork, Server
from runners.silence import ran_out, too_silent

KILLED = "the fork server was killed from outside, and the trial with it"
"""Why a trial ended whose server was killed."""

STOP_S = 600.0
"""A full run that has not saved a checkpoint and ended so long after it was asked to hangs."""

LOG_BYTES = 64 << 20
"""A trial's log grows no further: a script that prints at each step would fill the disk."""

LOG_FIRST_BYTES = 1 << 20
LOG_LAST_BYTES = 1 << 16
LOG_CUT = "\n[hotlap: the log became too long, and some of it was dropped here]\n"


class Trial:
    """Follows one trial from its order until nothing of it is left.

    Args:
        server: Forks it.
        job: What it does.
        folder: Where its files are.
        watch: Sees each event; True stops the trial.
        deadline: It is killed then, in seconds of `time.monotonic`.
        timeout_s: So many seconds it was given until then.

    Attributes:
        events: All its events so far; of a full run the last one alone.
        traceback: The worker's own, if it has told one.
        outside: Whether its server is what failed, so that it tells nothing of the settings.
    """

    def __init__(
        self,
        server: Server,
        job: Job,
        folder: Path,
        watch: Watch,
        deadline: float,
        timeout_s: float,
    ) -> None:
        self._server = server
        self._job = job
        self._kind = job.kind
        self._is_script = job.script is not None
        self._watch = watch
        self._deadline = deadline
        self._timeout_s = timeout_s
        self._folder = folder
        self._reader = EventReader(folder, from_now=True)
        self._log = Kept(folder / "worker.log")
        self.events: list[dict[str, Any]] = []
        self._names: set[str] = set()
        self.traceback = ""
        self.outside = False

    def follow(self) -> tuple[Outcome, str]:
        """Run it. Returns the outcome and, unless it is ok, the reason.

        On Ctrl-C a full run gets to save a checkpoint first, which is told to the watch as an
        event `stopping`; a second one kills it.

        Raises:
            NoRoom: The disk is full, so that the trial's end tells nothing about its settings.
        """
        try:
            pid = self._server.start(self._folder, self._deadline)
        except NoAnswer as error:
            self.outside = True
            return "timeout", str(error)
        except NoFork as error:
            self.outside = True
            return "crash", str(error)
        except Ended as error:
            return self._without_server(error)
        self._heard = time.monotonic()
        try:
            outcome, reason = self._until_gone(pid)
        except KeyboardInterrupt:
            if self._kind == "full_run":
                self._server.ask_to_stop(pid)
                self._deadline = min(self._deadline, time.monotonic() + STOP_S)
                self._watch({"event": "stopping", "limit_s": STOP_S})
                self._until_gone(pid)
            raise
        finally:
            self._server.bury(pid)
        if outcome == "crash" and self.events and self.events[-1].get("no_room"):
            raise NoRoom(reason)
        if outcome == "crash" and (why := takes_no_more(self._folder)):
            raise NoRoom(f"the disk that holds {self._folder} takes no more ({why}): {reason}")
        return outcome, reason

    def _until_gone(self, pid: int) -> tuple[Outcome, str]:
        stopped: tuple[Outcome, str] | None = None
        give_up = math.inf
        while True:
            gone = self._server.wait_gone(pid, POLL_S)
            for event in self._reader.new():
                if self._kind == "full_run":  # it tells its steps for weeks: see protocol.Run
                    self.events.clear()
                self.events.append(event)
                self._names.add(event["event"])
                self._heard = time.monotonic()
                if stopped is None and gone is None and self._watch(event):
                    stopped = ("pruned", "")
                    self._server.kill(pid)
                    give_up = time.monotonic() + BURY_S
            if gone is not None:
                return stopped or self._ended(gone)
            if self._kind != "full_run" and self._log.size() > LOG_BYTES:
                self._log.cut(LOG_FIRST_BYTES, LOG_LAST_BYTES, LOG_CUT)
            if stopped is None and (late := self._late()):
                stopped = ("timeout", late)
                self._server.dump(pid)
                self._server.kill(pid)
                give_up = time.monotonic() + BURY_S
            if stopped is not None and time.monotonic() > give_up:
                return stopped  # the server does not answer; it is buried with the trial

    def _late(self) -> str:
        """Why the trial is ended for its silence; empty while it may go on."""
        now = time.monotonic()
        if now > self._deadline:
            return ran_out(self._timeout_s)
        return too_silent(self._job, self._names, now - self._heard)

    def _ended(self, status: int) -> tuple[Outcome, str]:
        last = self.events[-1] if self.events else {"event": "nothing"}
        # A script that trains in a process which it has forked is killed after its answer.
        ended = (0, -signal.SIGKILL) if self._is_script else (0,)
        if last["event"] in ("finished", "facts", "trained", "losses") and status in ended:
            return "ok", ""
        if last["event"] == "failed":
            self.traceback = last["traceback"]
            return cast(Outcome, last["outcome"]), str(last["error"])
        if not self._server.alive():
            return self._without_server(self._server.ended("while the trial ran"))
        if status == -signal.SIGKILL:
            return "oom", "the worker was killed from outside, most likely for want of host memory"
        how = _signal_name(-status) if status < 0 else f"exit code {status}"
        after = f"after its event '{last['event']}'"
        if self._is_script and status >= 0:
            return "crash", (
                f"the script ended its process at once, as os._exit does, with {how} {after} and "
                "before it was measured; let it train for longer, or not end in this way (hotlap "
                "ends each trial itself)"
            )
        return "crash", f"the worker ended with {how} {after}"

    def _without_server(self, error: Ended) -> tuple[Outcome, str]:
        self.outside = error.killed
        return "crash", KILLED if error.killed else str(error)


def _signal_name(number: int) -> str:
    """Not each real-time signal has a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
