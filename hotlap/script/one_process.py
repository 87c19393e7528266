"""OneProcess: of the processes that a script forks and that train, one is followed.

Several may train the same model at the same time (A3C, Hogwild). Each has a copy of the follower,
and would tell of a training of its own in the trial's one file. So the first that steps is the one,
and what the others do beside it, as they do in the full run, is not heard.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable

ENDED = (
    "the script trained in a process that it had forked, which ended before its speed was known; "
    "let it train for longer (more epochs, more data: hotlap ends each trial itself), unless it "
    "failed there: see the end of the log"
)

PID_BYTES = 8


class OneProcess:
    """A byte in a pipe that all forked processes have: who takes it is the one.

    It leaves its process id in memory that they share.

    Attributes:
        is_this: Whether this process is the one.
        is_another: Whether it is known that another process is the one.
    """

    def __init__(self) -> None:
        self._pipe, write = os.pipe()
        os.write(write, b"1")
        os.close(write)
        self._pid = mmap.mmap(-1, PID_BYTES)
        self.is_this = self.is_another = False

    def take(self, lost: Callable[[], object]) -> bool:
        """Whether this process is the one; the first that asks is.

        Args:
            lost: Called where it is not, and in each process that this one forks from now on.
        """
        if not self.is_this and not self.is_another:
            try:
                self.is_this = os.read(self._pipe, 1) != b""
            except OSError:  # the script closes all that it does not know
                self.is_this = True
            self.is_another = not self.is_this
            if self.is_another:
                lost()
            else:
                self._pid[:] = os.getpid().to_bytes(PID_BYTES, "little")
                os.register_at_fork(after_in_child=lambda: self._forked(lost))
        return self.is_this

    def other(self) -> int:
        """The process id of the one, if that is another process; 0 if it is not, or not yet."""
        if self.is_this:
            return 0
        while not (pid := int.from_bytes(self._pid[:], "little")) and self.is_another:
            time.sleep(0.001)  # it has the byte, and is about to leave its id
        self.is_another = pid != 0
        return pid

    def _forked(self, lost: Callable[[], object]) -> None:
        self.is_this, self.is_another = False, True
        lost()
