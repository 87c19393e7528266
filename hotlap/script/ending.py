"""How the process of a script ends: by its answer, at once, whatever the script would do next.

An exception would be swallowed by a script's bare `except`, and an exit handler might upload what
has come of a few steps. So the last event is written and the process ends on the spot; loader
workers and all else that it started is the fork server's to kill.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, NoReturn

from hotlap.errors import HotlapError, InvalidTrial
from hotlap.job import EventLog, Job, printable
from hotlap.script.one_process import ENDED, OneProcess


class Ending:
    """Ends this process with an answer.

    Args:
        emit: Where events go.
        job: What was asked for.

    Attributes:
        one: Which of the script's processes answers.
    """

    def __init__(self, emit: EventLog, job: Job) -> None:
        self._emit = emit
        self._job = job
        self._pid = os.getpid()
        self._raised: BaseException | None = None
        self.one = OneProcess()

    def answer(self, event: str, **values: Any) -> NoReturn:
        """End with this event."""
        try:
            self._tell(event, **values)
        finally:
            self._exit(0)

    def fail(self, error: BaseException) -> NoReturn:
        """End as failed."""
        try:
            from hotlap.worker import failure  # imports torch, and the script may not have done so

            if error is not self._raised and not isinstance(error, HotlapError):
                with contextlib.suppress(Exception):  # the script has taken standard error away
                    traceback.print_exception(error)  # of hotlap's own; its own has been shown
            told = failure(error, self._job)
            if isinstance(error, HotlapError):
                told["traceback"] = ""  # its sentence says it all, and the frames are hotlap's
            self._tell("failed", **told)
        finally:
            self._exit(1)

    def exited(self, sentence: str) -> NoReturn:
        """End as failed where the script has said itself what is wrong: the log's end shows it."""
        try:
            self._tell("failed", outcome="crash", error=printable(sentence), traceback="")
        finally:
            self._exit(1)

    def guard(self, action: Callable[[], None]) -> None:
        """Do `action`, and fail if it raises: the script must not get hold of the error."""
        try:
            action()
        except BaseException as error:
            self.fail(error)

    def leave_to_another(self, code: Any) -> None:
        """The script has ended with this exit code: end silently if another process is followed.

        The one that was first waits for that one, which may answer yet, unless it has failed
        itself; and for nothing else, of which much (a Manager, the workers of a pool) would end
        with the exit handlers of this process alone.

        Raises:
            InvalidTrial: It did not answer.
        """
        one = self.one.other()
        if not one:
            return
        failed = self._raised is not None or bool(code)
        if self.is_forked:
            self._exit(1 if failed else 0)
        if failed:
            _end(one)
            return
        status = _wait(one)
        if os.WIFSIGNALED(status):  # what is told of a process that is killed is told of this one
            with contextlib.suppress(OSError):
                signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
        if status:
            self.exited(
                "the process that the script had forked to train in ended with exit code "
                f"{os.waitstatus_to_exitcode(status)} before it was measured"
            )
        raise InvalidTrial(ENDED)

    def stopped(self, code: Any, cause: BaseException | None) -> None:
        """The script has ended: end as failed if it was by an error or with an exit code.

        Args:
            code: Its exit code.
            cause: The error that it was handling when it asked to exit.
        """
        if self._raised is not None:
            self.fail(self._raised)
        if code:
            how = f"exit code {code}" if isinstance(code, int) else f"the words: {code}"
            sentence = f"the script ended with {how} before it was measured"
            if cause is None:
                self.exited(sentence)
            # An excepthook of its own, or it exits where it has caught an error (Hydra does).
            error = RuntimeError(f"{sentence}, by {type(cause).__name__}: {cause}")
            error.__cause__ = cause
            self.fail(error)

    @property
    def is_forked(self) -> bool:
        """Whether the script has forked this process."""
        return os.getpid() != self._pid

    def hear_errors(self) -> None:
        """Remember the error that ends the script, and show it as Python does."""

        def show(
            kind: type[BaseException], error: BaseException, trace: TracebackType | None
        ) -> None:
            self._raised = error
            sys.__excepthook__(kind, error, trace)

        sys.excepthook = show
        self._hear_trainer()

    def _hear_trainer(self) -> None:
        """Hear, too, what ends a forked process that trains: multiprocessing shows it by itself."""
        begin: Any = BaseProcess._bootstrap  # type: ignore[attr-defined]

        @functools.wraps(begin)
        def _bootstrap(process: Any, *args: Any, **kwargs: Any) -> Any:
            run = process.run

            def heard() -> None:
                try:
                    run()
                except BaseException as error:
                    if self.is_forked and self.one.is_this:
                        self._trainer_failed(error)
                    raise

            process.run = heard
            return begin(process, *args, **kwargs)

        BaseProcess._bootstrap = _bootstrap  # type: ignore[attr-defined]

    def _trainer_failed(self, error: BaseException) -> None:
        if isinstance(error, SystemExit):
            self.stopped(error.code, error.__context__)  # so torch.multiprocessing ends it
        else:
            trace = error.__traceback__
            self.fail(error.with_traceback(trace and trace.tb_next))  # less hotlap's own frame

    def _tell(self, event: str, **values: Any) -> None:
        if not (self.is_forked and self.one.is_another):
            self._emit(event, **values)

    def _exit(self, code: int) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the script may have closed it, or put in its own
                stream.flush()
        if self.is_forked and not self.one.is_another:
            # A process that the script has forked trains: its parent would only wonder.
            os.kill(self._pid, signal.SIGKILL)
        os._exit(code)


def _wait(one: int) -> int:
    """Wait for a process; its status as os.wait gives it, 0 where that is another's to know."""
    with contextlib.suppress(ChildProcessError):
        ended, status = os.waitpid(one, os.WNOHANG)
        if ended:
            return status
        if any(child.daemon and child.pid == one for child in multiprocessing.active_children()):
            _end(one)  # as multiprocessing does when its parent ends
            return 0
        return os.waitpid(one, 0)[1]
    # The script has waited for it itself, or another process has forked it.
    with contextlib.suppress(OSError):
        while True:
            os.kill(one, 0)
            time.sleep(0.01)
    return 0


def _end(one: int) -> None:
    """End a child of this process: what it told from now on would follow the answer."""
    with contextlib.suppress(ChildProcessError):
        if not os.waitpid(one, os.WNOHANG)[0]:
            os.kill(one, signal.SIGKILL)
            os.waitpid(one, 0)
