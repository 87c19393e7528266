"""Runs each trial in a process of its own, forked from a server that has imported torch.

There is one server for each distinct process environment (OpenMP's waiting, the allocator),
started on first use. See hotlap/fork_server.py for the other side.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import hotlap
from hotlap.environment import process_environment
from hotlap.errors import InvalidTrial
from hotlap.job import EventReader, Job, printable
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from runners.gpu_watch import GpuWatch
from runners.protocol import Outcome, Run, Watch

POLL_S = 0.02
"""Between two looks at a trial's events; a look costs some 20 microseconds."""

DUMP_S = 0.3
"""What a hanging worker gets to write where its threads stand."""

MAX_SERVERS = 4
"""A server holds torch, some 400 MB; the one that was not used for longest makes room."""

SERVER_START_S = 300.0
BURY_S = 5.0
"""A server that has not buried a killed trial by then is killed, with all that it started."""

BOOT = """
import sys
root = sys.argv.pop(1)
sys.path[0] = root
import hotlap.fork_server
sys.path[:] = [*sys.path[1:], root]
hotlap.fork_server.main()
"""
"""Starts a server whose last import folder is hotlap's own, so that a user's `runners` or `conf`
is never hidden by ours; the current folder, which may hold a `random.py`, is not on the path."""

LOG_TAIL = 40
LOG_BYTES = 1 << 16
"""Of a log's end so many lines are shown, out of so many bytes: a trial may print gigabytes."""
MARK = "HOTLAP_TRIAL"
"""Stands in the environment of all that a runner starts, so that nothing gets lost."""


class ProcessRunner:
    """Trials as processes on this machine, one at a time.

    Args:
        preload: Modules that the servers import beforehand.
        env: The environment to start from; this process's own by default.
        gpu_watch: Whether to read the GPU's counters while a trial runs, where there are any.
    """

    recorded = False

    def __init__(
        self,
        preload: Sequence[str] = ("torch", "torchvision"),
        env: Mapping[str, str] | None = None,
        gpu_watch: bool = True,
    ) -> None:
        self._preload = tuple(preload)
        self._env = dict(os.environ if env is None else env)
        self._servers: dict[tuple[tuple[str, str], ...], _Server] = {}
        self._gpu_watch = gpu_watch

    def clock(self) -> float:
        """The machine's monotonic seconds."""
        return time.monotonic()

    def run(self, job: Job, folder: Path, watch: Watch, timeout_s: float) -> Run:
        """Run `job` in `folder`; a trial's failure comes back as data.

        Args:
            job: What to do.
            folder: The trial's folder; made if it is not there.
            watch: Sees each event; True stops the trial (outcome `pruned`).
            timeout_s: The trial is killed after so many seconds (outcome `timeout`).
        """
        start = time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)
        job.write(folder)
        try:
            settings = Settings.from_dict(job.settings)
            server = self._server(process_environment(settings, self._env))
        except InvalidTrial as error:
            return Run("invalid", Measurement(()), str(error), folder=folder)
        device = _cuda_index(job) if self._gpu_watch else None
        with contextlib.nullcontext() if device is None else GpuWatch(device) as gpu:
            trial = _Trial(server, job, folder, watch, start + timeout_s)
            outcome, reason = trial.follow()
        counters = gpu.means(*_window_times(trial.events)) if gpu is not None else {}
        traceback = trial.traceback or (_tail(folder) if outcome not in ("ok", "pruned") else "")
        return Run(
            outcome,
            Measurement.from_events(trial.events, counters),
            reason,
            traceback,
            tuple(trial.events),
            folder,
            time.monotonic() - start,
        )

    def close(self) -> None:
        """End the servers and all that came of them."""
        for server in self._servers.values():
            server.let_go()  # all at once, then wait for each
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    def __enter__(self) -> ProcessRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _server(self, env: dict[str, str]) -> _Server:
        key = tuple(sorted(env.items()))
        server = self._servers.get(key)
        if server is None or not server.alive():
            if server is not None:
                server.close()
            while len(self._servers) >= MAX_SERVERS:
                oldest = next(iter(self._servers))
                self._servers.pop(oldest).close()
            server = _Server(self._preload, env)
        self._servers.pop(key, None)
        self._servers[key] = server  # last: the most recently used one
        return server


class _Trial:
    """Follows one trial from its order until nothing of it is left."""

    def __init__(
        self, server: _Server, job: Job, folder: Path, watch: Watch, deadline: float
    ) -> None:
        self._server = server
        self._window = job.window
        self._kind = job.kind
        self._watch = watch
        self._deadline = deadline
        self._folder = folder
        self._reader = EventReader(folder, from_now=True)
        self.events: list[dict[str, Any]] = []
        self._names: set[str] = set()
        self.traceback = ""

    def follow(self) -> tuple[Outcome, str]:
        """Run it. Returns the outcome and, unless it is ok, the reason.

        On Ctrl-C a full run gets to save a checkpoint first; a second one kills it.
        """
        pid = self._server.start(self._folder)
        self._heard = time.monotonic()
        try:
            return self._until_gone(pid)
        except KeyboardInterrupt:
            if self._kind == "full_run":
                self._server.ask_to_stop(pid)
                self._until_gone(pid)
            raise
        finally:
            self._server.bury(pid)

    def _until_gone(self, pid: int) -> tuple[Outcome, str]:
        stopped: tuple[Outcome, str] | None = None
        give_up = math.inf
        while True:
            gone = self._server.wait_gone(pid, POLL_S)
            for event in self._reader.new():
                self.events.append(event)
                self._names.add(event["event"])
                self._heard = time.monotonic()
                if stopped is None and gone is None and self._watch(event):
                    stopped = ("pruned", "")
                    self._server.kill(pid)
                    give_up = time.monotonic() + BURY_S
            if gone is not None:
                return stopped or self._ended(gone)
            if stopped is None and (late := self._late()):
                stopped = ("timeout", late)
                self._server.dump(pid)
                self._server.kill(pid)
                give_up = time.monotonic() + BURY_S
            if stopped is not None and time.monotonic() > give_up:
                return stopped  # the server does not answer; it is buried with the trial

    def _late(self) -> str:
        now = time.monotonic()
        if now > self._deadline:
            return "the trial ran out of the time it was given"
        silent = now - self._heard
        if self._kind == "full_run":
            return ""  # it takes what it takes
        if "warmup" in self._names:
            if silent > self._window.silence_s:
                return f"no block ended within {self._window.silence_s:g} s"
        elif self._kind == "probe" or "built" in self._names:
            if silent <= self._window.first_step_s:
                return ""
            return (
                f"no step was done within {self._window.first_step_s:g} s of the start; the "
                "loader gave no batch or the first step hangs (the log says where it stood)"
            )
        return ""

    def _ended(self, status: int) -> tuple[Outcome, str]:
        last = self.events[-1] if self.events else {"event": "nothing"}
        if last["event"] in ("finished", "facts", "trained", "losses") and status == 0:
            return "ok", ""
        if last["event"] == "failed":
            self.traceback = last["traceback"]
            return cast(Outcome, last["outcome"]), str(last["error"])
        if not self._server.alive():
            return "crash", "the fork server was killed from outside, and the trial with it"
        if status == -signal.SIGKILL:
            return "oom", "the worker was killed from outside, most likely for want of host memory"
        how = signal.Signals(-status).name if status < 0 else f"exit code {status}"
        return "crash", f"the worker ended with {how} after its event '{last['event']}'"


class _Server:
    """The tuner's handle on one fork server."""

    def __init__(self, preload: Sequence[str], env: Mapping[str, str]) -> None:
        self._mark = uuid.uuid4().hex
        root = str(Path(hotlap.__file__).parents[1])
        self._process = subprocess.Popen(
            [sys.executable, "-c", BOOT, root, ",".join(preload)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**env, MARK: self._mark},
            start_new_session=True,  # a terminal's Ctrl-C reaches the tuner alone
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._orders = self._process.stdin
        self._answers = self._process.stdout
        os.set_blocking(self._answers.fileno(), False)
        self._buffer = b""
        self._gone: dict[int, int] = {}  # trials of which nothing is left, with their exit status
        try:
            self._await("ready", SERVER_START_S)
        except BaseException:  # Ctrl-C too: nobody else knows this server yet
            self._process.kill()
            self.close()
            raise

    def alive(self) -> bool:
        """Whether it still serves."""
        return self._process.poll() is None

    def start(self, folder: Path) -> int:
        """Fork a worker for the job in `folder`; returns its process id, also its group's."""
        self._order(run=str(folder.absolute()))
        return int(self._await("pid", SERVER_START_S)["pid"])

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
            _kill_marked(self._mark)

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
        _kill_marked(self._mark)

    def _order(self, **order: Any) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died: wait_gone says so
            self._orders.write((json.dumps(order) + "\n").encode())
            self._orders.flush()

    def _await(self, key: str, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for answer in self._read(0.1):
                if key in answer:
                    return answer
            if not self.alive():
                break
        raise RuntimeError(
            f"the fork server ended with code {self._process.poll()} before it said '{key}'; "
            f"try: {sys.executable} -c 'import torch'"
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


def _kill_marked(mark: str) -> None:
    """Kill every process whose environment carries `mark`: descendants that left the group."""
    wanted = f"{MARK}={mark}".encode()
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in environ.read_bytes():
                os.kill(int(environ.parent.name), signal.SIGKILL)
        except OSError:
            continue  # not ours to read, or gone


def _cuda_index(job: Job) -> int | None:
    """The CUDA device a job asks for, 0 if it leaves that open, None for the CPU."""
    kind, _, index = str(job.args.get("device") or "cuda").partition(":")
    return int(index or 0) if kind == "cuda" else None


def _window_times(events: Sequence[dict[str, Any]]) -> tuple[float | None, float | None]:
    begin = [event["t"] for event in events if event["event"] == "warm"]
    end = [event["t"] for event in events if event["event"] == "block"]
    return (begin[0] if begin else None, end[-1] if end else None)


def _tail(folder: Path) -> str:
    try:
        with (folder / "worker.log").open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:  # there is none, or the trial has done something to its folder
        return ""
    return printable("\n".join(text.splitlines()[-LOG_TAIL:]))
