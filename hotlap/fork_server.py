"""A server that has imported torch and forks a process for each trial: 0.1 s instead of 4 s.

Orders come as JSON lines on standard input, answers go as JSON lines to a descriptor of their own,
the first argument, since whatever the interpreter runs at its start may print to standard output:

    (at first)        -> {"ready": true, "start_s": CPU seconds of interpreter and imports}
    {"run": folder}   -> {"pid": n}, and {"gone": n, "status": s} when nothing of the trial is left;
                         {"pid": null, "why": text} where no process can be forked
    {"kill": n}       -> the trial's whole group is killed; {"gone": ...} follows

Standard input at its end means that the tuner is gone, however it went: everything is killed.
Nothing else ends the server. A signal to all of the tuner's processes (`systemctl stop`, a batch
system) would take it away, and its death the trial, before a full run has saved its checkpoint.

Why not the standard library's forkserver context: it would make itself the trial's own default
start method, so that loader workers import torch anew and need picklable data sets. And why no
pool: a daemon process may not have loader workers. The server imports, but never runs anything
that starts a thread or a CUDA context, so what is forked from it is as good as new.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from hotlap import fresh_worker
from hotlap.prctl import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, prctl
from hotlap.scratch_place import remove_left

ALWAYS = ("torch._dynamo", "hotlap.worker")
"""Imported besides what the runner names: torch's optimizers import torch._dynamo on first use."""

DEAF_TO = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that are the tuner's to decide on."""


def main() -> None:
    """Import, then serve orders until standard input ends."""
    answers, names = int(sys.argv[1]), sys.argv[2]
    if names.startswith(fresh_worker.FLAG):  # not the server, but a worker started anew
        fresh_worker.main(Path(names.removeprefix(fresh_worker.FLAG)))
    heard = {number: signal.signal(number, signal.SIG_IGN) for number in DEAF_TO}
    heard[signal.SIGINT] = signal.default_int_handler  # also where the tuner is in the background
    environment = dict(os.environ)  # imports may change it
    orders = _take_pipes(answers)
    if sys.platform == "linux":
        # A stopped server sees no end of its orders. Its tuner's end wakes it up; killing it
        # instead would leave nobody to kill what its trial has started.
        prctl(PR_SET_PDEATHSIG, signal.SIGCONT)
    notes = [_imported(name) for name in (*filter(None, names.split(",")), *ALWAYS)]
    if sys.platform == "linux":
        # Whatever a trial leaves behind becomes our child, and is found and killed.
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    Server(orders, answers, environment, heard, [note for note in notes if note]).serve()
    os._exit(0)  # torch's own tear-down would take a second or more, and nothing is left to save


class Server:
    """Forks trials and buries them. One trial runs at a time.

    Args:
        orders: Descriptor to read from.
        answers: Descriptor to write to.
        environment: As it was before the imports.
        heard: What a trial does at a signal that the server does not hear.
        notes: Lines for each trial's log.
    """

    def __init__(
        self,
        orders: int,
        answers: int,
        environment: dict[str, str],
        heard: dict[signal.Signals, Any],
        notes: list[str],
    ) -> None:
        self._environment = environment
        self._heard = heard
        self._notes = notes
        self._orders = orders
        self._answers = answers
        self._buffer = b""
        self._wake, wake_in = os.pipe()
        os.set_blocking(wake_in, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_in, warn_on_full_buffer=False)
        self._trial: int | None = None

    def serve(self) -> None:
        """Work until the tuner is gone."""
        self._answer(ready=True, start_s=time.process_time())
        while True:
            ready, _, _ = select.select([self._orders, self._wake], [], [])
            if self._wake in ready:
                os.read(self._wake, 4096)
                self._reap()
            if self._orders in ready:
                data = os.read(self._orders, 65536)
                if not data:
                    kill_descendants(self._trial)
                    if self._trial is not None:
                        unlink_semaphores(self._trial)
                    remove_left()
                    return
                self._buffer += data
                *lines, self._buffer = self._buffer.split(b"\n")
                for line in lines:
                    self._obey(json.loads(line))

    def _obey(self, order: dict[str, Any]) -> None:
        if "run" in order:
            server = os.getpid()
            try:
                pid = os.fork()
            except OSError as error:
                self._answer(pid=None, why=error.strerror)
                return
            if pid == 0:
                self._become_worker(Path(order["run"]), server)
            self._trial = pid
            self._answer(pid=pid)
        elif self._trial is not None and self._trial == order["kill"]:
            _signal_group(self._trial, signal.SIGKILL)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._trial:
                kill_descendants(pid)
                unlink_semaphores(pid)
                self._trial = None
                self._answer(gone=pid, status=os.waitstatus_to_exitcode(status))
                remove_left()  # a million files take their time; the next trial waits for it

    def _answer(self, **values: Any) -> None:
        # A tuner that is gone reads no answer; the end of its orders says so next.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._answers, (json.dumps(values) + "\n").encode())

    def _become_worker(self, folder: Path, server: int) -> NoReturn:
        def begin() -> int:
            os.setsid()
            name_semaphores()
            if sys.platform == "linux":
                prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != server:
                    return 1
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, handler in self._heard.items():
                signal.signal(number, handler)
            for fd in (self._orders, self._answers, self._wake):
                os.close(fd)
            _redirect(folder / "worker.log")
            if fresh_worker.wanted(folder):
                fresh_worker.start(folder, self._environment)
            for note in self._notes:
                print(note, file=sys.stderr)
            from hotlap.worker import main as work

            return work(folder)

        fresh_worker.work(begin)


def kill_descendants(group: int | None) -> None:
    """Kill a trial's group and whatever else came of it, until no child of ours is left."""
    if group is not None:
        _signal_group(group, signal.SIGKILL)
    while children := _children():
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.002)


def unlink_semaphores(trial: int) -> None:
    """Take away the named semaphores of a trial's spawned workers.

    The standard library leaves that to a process of the trial's own, which is killed with it.
    """
    for path in Path("/dev/shm").glob(f"sem.{_semaphores(trial)[1:]}-*"):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def name_semaphores() -> None:
    """Let this process's named semaphores be found by `unlink_semaphores`.

    Whatever the trial starts takes the name over.
    """
    config = vars(multiprocessing.current_process())["_config"]
    config["semprefix"] = _semaphores(os.getpid())


def _semaphores(trial: int) -> str:
    return f"/hotlap-{trial}"


def _children() -> list[int]:
    """Children of this process, orphans of a trial included; without /proc, none are found."""
    me = os.getpid()
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # A process may have any bytes for its name.
            line = stat.read_text(encoding="utf-8", errors="replace")
            parent = int(line.rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue  # it ended while we looked
        if parent == me:
            found.append(int(stat.parent.name))
    return found


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _imported(name: str) -> str:
    """Import a module beforehand; why it cannot be, for the trials' logs, else empty.

    Whatever it raises (a torchvision built for another torch raises RuntimeError) is the business
    of the trial that needs it, which imports it once more. One that is not there needs no line.
    """
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        pass
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        return f"{name} failed while the fork server imported it: {why}"
    return ""


def _take_pipes(answers: int) -> int:
    """The descriptor of the orders. What the imports read and print is not for the tuner."""
    os.set_inheritable(answers, False)
    orders = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return orders


def _redirect(log: Path) -> None:
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)


if __name__ == "__main__":
    main()
