"""How the process of a script ends: by its answer, at once, whatever the script would do next.

An exception would be swallowed by a script's bare `except`, and an exit handler might upload what
has come of a few steps. So the last event is written and the process ends on the spot; loader
workers and all else that it started is the fork server's to kill.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
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

        The one that was first waits for all that it has forked, of which one may answer yet.

        Raises:
            InvalidTrial: None did.
        """
        if not self.one.is_another:
            return
        if self.is_forked:
            self._exit(1 if self._raised is not None or code else 0)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
        self.one.is_another = False
        raise InvalidTrial(ENDED)

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

    @property
    def raised(self) -> BaseException | None:
        """The error that has ended the script, if one has."""
        return self._raised

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
