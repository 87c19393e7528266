"""Runs each trial in a process of its own, forked from a server that has imported torch.

There is one server for each distinct process environment (OpenMP's waiting, the allocator),
started on first use. See hotlap/fork_server.py for the other side.
"""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hotlap.environment import process_environment
from hotlap.errors import InvalidTrial
from hotlap.job import Job, Kept, printable
from hotlap.measurement import Measurement
from hotlap.scratch_place import bases, new_place, remove, remove_left
from hotlap.settings import Settings
from runners.gpu_watch import GpuWatch
from runners.protocol import Outcome, Run, Watch
from runners.server import MAX_SERVERS, Ended, NoAnswer, Server
from runners.trial import Trial

UNSTARTED: dict[type[Exception], Outcome] = {
    InvalidTrial: "invalid",
    NoAnswer: "timeout",
    Ended: "crash",
}
"""How a trial ended for which there is no server, by the reason. A server that takes long to start,
or is killed, says nothing of the trial's settings; one that ends by itself may: an allocator's
library can break the interpreter."""

COMPILED = "TORCHINDUCTOR_CACHE_DIR"
"""Where torch keeps what it has compiled, for each later process to find."""

LOG_TAIL = 40
LOG_BYTES = 1 << 16
"""Of a log's end so many lines are shown, out of so many bytes: a trial may print gigabytes."""


class ProcessRunner:
    """Trials as processes on this machine, one at a time.

    Args:
        preload: Modules that the servers import beforehand.
        env: The environment to start from; this process's own by default.
        gpu_watch: Whether to read the GPU's counters while a trial runs, where there are any; not
            while a full run does.
        compiles_anew: Whether what was compiled before this runner is not found by its trials, so
            that the first with a compile mode pays all of it; a place that `env` names stays.
    """

    recorded = False
    known = None

    def __init__(
        self,
        preload: Sequence[str] = ("torch", "torchvision"),
        env: Mapping[str, str] | None = None,
        gpu_watch: bool = True,
        compiles_anew: bool = False,
    ) -> None:
        self._preload = tuple(preload)
        self._env = dict(os.environ if env is None else env)
        self._forget: Callable[[], object] = lambda: None
        if compiles_anew and COMPILED not in self._env:
            remove_left()  # what a killed tuner has compiled may be gigabytes
            place = new_place(bases()[0])
            self._env[COMPILED] = str(place)
            self._forget = weakref.finalize(self, remove, place)
        self._servers: dict[tuple[tuple[str, str], ...], Server] = {}
        self._gpu_watch = gpu_watch
        self._device: int | str | None = None  # of the last trial that told

    def clock(self) -> float:
        """The machine's monotonic seconds."""
        return time.monotonic()

    def run(
        self,
        job: Job,
        folder: Path,
        watch: Watch,
        timeout_s: float,
        within_s: float | None = None,
    ) -> Run:
        """Run `job` in `folder`; a trial's failure comes back as data.

        Args:
            job: What to do.
            folder: The trial's folder; made if it is not there.
            watch: Sees each event; True stops the trial (outcome `pruned`).
            timeout_s: The trial is killed after so many seconds (outcome `timeout`), counted from
                when its server is ready.
            within_s: And in any case so long after the order, the server's start included; None:
                `timeout_s`.
        """
        start = time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)
        job.write(folder)
        over = start + (timeout_s if within_s is None else within_s)
        try:
            settings = Settings.from_dict(job.settings)
            server, is_new = self._server(process_environment(settings, self._env), over)
        except (InvalidTrial, NoAnswer, Ended) as error:
            served_s = time.monotonic() - start
            return Run(
                UNSTARTED[type(error)],
                Measurement(()),
                str(error),
                folder=folder,
                wall_s=served_s,
                served_s=served_s,
                outside=isinstance(error, NoAnswer) or getattr(error, "killed", False),
            )
        ready = time.monotonic()
        deadline = min(ready + timeout_s, over)
        log = Kept(folder / "worker.log")
        # Of a full run nobody asks for the counters, whose readings would be kept till its end.
        watched = self._gpu_watch and job.kind != "full_run"
        with GpuWatch() if watched else contextlib.nullcontext() as gpu:
            device = _asked_for(job) if self._device is None else self._device
            others = gpu.others(device) if gpu is not None and device is not None else {}

            def seen(event: dict[str, Any]) -> bool:
                if event["event"] in ("facts", "built"):
                    self._device = _device_of(event)
                    if gpu is not None and self._device is not None:
                        gpu.follow(self._device)
                return watch(event)

            trial = Trial(server, job, folder, seen, deadline, timeout_s)
            outcome, reason = trial.follow()
        counters = gpu.means(*_window_times(trial.events)) if gpu is not None else {}
        traceback = trial.traceback or (_tail(log) if outcome not in ("ok", "pruned") else "")
        return Run(
            outcome,
            Measurement.from_events(trial.events, {**others, **counters}),
            reason,
            traceback,
            tuple(trial.events),
            folder,
            time.monotonic() - start,
            0.0 if (job.script or {}).get("fresh") else server.start_s,
            ready - start if is_new else 0.0,
            trial.outside,
        )

    def close(self) -> None:
        """End the servers and all that came of them."""
        for server in self._servers.values():
            server.let_go()  # all at once, then wait for each
        for server in self._servers.values():
            server.close()
        self._servers.clear()
        self._forget()

    def __enter__(self) -> ProcessRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _server(self, env: dict[str, str], deadline: float) -> tuple[Server, bool]:
        """The server with the environment `env`, and whether it was started for this call."""
        key = tuple(sorted(env.items()))
        server = self._servers.pop(key, None)
        if server is not None and not server.alive():
            server.close()
            server = None
        is_new = server is None
        if server is None:
            while len(self._servers) >= MAX_SERVERS:
                oldest = next(iter(self._servers))
                self._servers.pop(oldest).close()
            server = Server(self._preload, env, deadline)
        self._servers[key] = server  # last: the most recently used one
        return server, is_new


def _asked_for(job: Job) -> int | None:
    """The CUDA device that a job asks for, by its number; None if it asks for none."""
    return _cuda_index(str(job.args.get("device")))


def _device_of(event: Mapping[str, Any]) -> int | str | None:
    """The CUDA device on which a worker says that it trains, by its UUID or number, or None."""
    device = event.get("facts", event).get("device")
    return event.get("device_uuid") or _cuda_index(str(device))


def _cuda_index(device: str) -> int | None:
    kind, _, index = device.partition(":")
    return int(index or 0) if kind == "cuda" else None


def _window_times(events: Sequence[dict[str, Any]]) -> tuple[float | None, float | None]:
    begin = [event["t"] for event in events if event["event"] == "warm"]
    end = [event["t"] for event in events if event["event"] == "block"]
    return (begin[0] if begin else None, end[-1] if end else None)


def _tail(log: Kept) -> str:
    text = log.read(max(0, log.size() - LOG_BYTES)).decode(errors="replace")
    return printable("\n".join(text.splitlines()[-LOG_TAIL:]))
