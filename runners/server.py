"""The tuner's handle on one fork server; hotlap/fork_server.py is the other side."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hotlap
from hotlap.scratch_place import remove_left
from runners.marked import MARK, kill_marked

MAX_SERVERS = 4
"""A server holds torch, some 400 MB; the one that was not used for longest makes room."""

POLL_S = 0.02
"""Between two looks at a trial; a look costs some 20 microseconds."""

DUMP_S = 0.3
"""What a hanging worker gets to write where its threads stand."""

START_S = 300.0
"""A server that does not answer within this time has a broken torch, whatever a trial may take."""

BURY_S = 5.0
"""A server that has not buried a killed trial by then is killed, with all that it started."""

BOOT = """
import sys
root = sys.argv.pop(1)
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]
sys.path.insert(0, root)
import hotlap.fork_server
sys.path[:] = [*sys.path[1:], root]
hotlap.fork_server.main()
"""
"""Starts a server whose last import folder is hotlap's own, so that a user's `runners` or `conf`
is never hidden by ours; the current folder, which may hold a `random.py`, is not on the path (with
PYTHONSAFEPATH it never was)."""


class NoAnswer(Exception):
    """The server has not answered by the deadline; it has been killed."""


class NoFork(Exception):
    """The server serves, and the machine gives it no further process."""


class Ended(Exception):
    """The server has ended by itself, or was killed from outside.

    Attributes:
        killed: Whether it was killed, which no setting does.
    """

    def __init__(self, text: str, killed: bool) -> None:
        super().__init__(text)
        self.killed = killed


class Server:
    """One fork server, started here.

    Args:
        preload: Modules that it imports beforehand.
        env: Its environment.
        deadline: When it has to be ready, in seconds of `time.monotonic`.

    Attributes:
        start_s: What its interpreter and imports took, in seconds of CPU: a disk that is read for
            the first time, or a neighbour, does not count.

    Raises:
        NoAnswer: It is not ready by the deadline.
        Ended: It ends while it starts.
    """

    def __init__(self, preload: Sequence[str], env: Mapping[str, str], deadline: float) -> None:
        self._mark = uuid.uuid4().hex
        root = str(Path(hotlap.__file__).parents[1])
        answers, theirs = os.pipe()
        self._answers = open(answers, "rb", buffering=0)
        os.set_blocking(answers, False)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", BOOT, root, str(theirs), ",".join(preload)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # a `sitecustomize` may print
                env={**env, MARK: self._mark},
                start_new_session=True,  # a terminal's Ctrl-C reaches the tuner alone
                pass_fds=(theirs,),
            )
        finally:
            os.close(theirs)
        assert self._process.stdin is not None
        self._orders = self._process.stdin
        self._buffer = b""
        self._gone: dict[int, int] = {}  # trials of which nothing is left, with their exit status
        try:
            self.start_s = float(self._await("ready", deadline)["start_s"])
        except BaseException:  # Ctrl-C too: nobody else knows this server yet
            self._process.kill()
            self.close()
            raise

    def alive(self) -> bool:
        """Whether it still serves."""
        return self._process.poll() is None

    def start(self, folder: Path, deadline: float) -> int:
        """Fork a worker for the job in `folder`; returns its process id, also its group's.

        Raises:
            NoAnswer: The worker has not been forked by the deadline.
            NoFork: It cannot be forked.
            Ended: There is no server any more.
        """
        self._order(run=str(folder.absolute()))
        answer = self._await("pid", deadline)
        if answer["pid"] is None:
            raise NoFork(
                f"the machine gave the trial no process ({answer['why']}): too many run already, "
                "or too little memory is left; `ulimit -u` says how many this user may have"
            )
        return int(answer["pid"])

    def ended(self, when: str, advice: str = "") -> Ended:
        """The error of a server that is not alive any more, and how that came."""
        code = self._process.poll()
        killed = code == -signal.SIGKILL
        return Ended(f"the fork server ended with code {code} {when}{advice}", killed)

    def wait_gone(self, pid: int, seconds: float) -> int | None:
        """The trial's exit status (minus the signal's number if killed) once all of it is gone."""
        if pid not in self._gone:
            self._read(seconds)
        if pid in self._gone or self.alive():
            return self._gone.get(pid)
        return -signal.SIGKILL

    def kill(self, pid: int) -> None:
        """Kill the trial's whole group."""
        self._order(kill=pid)

    def ask_to_stop(self, pid: int) -> None:
        """Ask the worker to end by itself."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    def dump(self, pid: int) -> None:
        """Ask the worker to write its threads' stacks into its log."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
            time.sleep(DUMP_S)

    def bury(self, pid: int) -> None:
        """Make sure that nothing of the trial is left, whatever happened."""
        deadline = time.monotonic() + BURY_S
        while self.wait_gone(pid, POLL_S) is None:
            self.kill(pid)
            if time.monotonic() > deadline:
                self._process.kill()
                self._process.wait()
        if not self.alive():
            kill_marked(self._mark)

    def let_go(self) -> None:
        """Tell the server that it is over; it kills what it has forked and ends."""
        with contextlib.suppress(BrokenPipeError):
            self._orders.close()

    def close(self) -> None:
        """End the server; it kills what it has forked."""
        self.let_go()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()
        kill_marked(self._mark)
        remove_left()

    def _order(self, **order: Any) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died: wait_gone says so
            self._orders.write((json.dumps(order) + "\n").encode())
            self._orders.flush()

    def _await(self, key: str, deadline: float) -> dict[str, Any]:
        began = time.monotonic()
        broken = began + START_S
        while time.monotonic() < min(deadline, broken):
            for answer in self._read(0.1):
                if key in answer:
                    return answer
            if not self.alive():
                import_ = f"; does this work: {sys.executable} -c 'import torch'"
                raise self.ended(f"before it said '{key}'", import_ if key == "ready" else "")
        self._process.kill()  # it would go on importing while the next trial is timed
        self._process.wait()
        kill_marked(self._mark)
        waited_s = max(0.0, min(deadline, broken) - began)
        raise NoAnswer(
            f"the fork server, which imports torch, did not say '{key}' within {waited_s:.1f} s"
            + ("; for more, type a larger budget=" if deadline < broken else "")
        )

    def _read(self, seconds: float) -> list[dict[str, Any]]:
        ready, _, _ = select.select([self._answers], [], [], seconds)
        if ready:
            data = self._answers.read()
            if not data:
                time.sleep(POLL_S)  # its end; `alive` will say so in a moment
            self._buffer += data or b""
        *lines, self._buffer = self._buffer.split(b"\n")
        answers = [json.loads(line) for line in lines]
        self._gone.update({a["gone"]: a["status"] for a in answers if "gone" in a})
        return answers
