"""OneProcess: of the processes that a script forks and that train, one is followed.

Several may train the same model at the same time (A3C, Hogwild). Each has a copy of the follower,
and would tell of a training of its own in the trial's one file. So the first that steps is the one,
and what the others do beside it, as they do in the full run, is not heard.
"""

from __future__ import annotations

import os
from collections.abc import Callable

ENDED = (
    "the script trained in a process that it had forked, which ended before its speed was known; "
    "let it train for longer (more epochs, more data: hotlap ends each trial itself)"
)


class OneProcess:
    """A byte in a pipe that all forked processes have: who takes it is the one.

    Attributes:
        is_another: Whether it is known that another process is the one.
    """

    def __init__(self) -> None:
        self._pipe, write = os.pipe()
        os.write(write, b"1")
        os.close(write)
        self._is_this = self.is_another = False

    def take(self, lost: Callable[[], object]) -> bool:
        """Whether this process is the one; the first that asks is.

        Args:
            lost: Called where it is not, and in each process that this one forks from now on.
        """
        if not self._is_this and not self.is_another:
            try:
                self._is_this = os.read(self._pipe, 1) != b""
            except OSError:  # the script closes all that it does not know
                self._is_this = True
            self.is_another = not self._is_this
            if self.is_another:
                lost()
            else:
                os.register_at_fork(after_in_child=lambda: self._forked(lost))
        return self._is_this

    def _forked(self, lost: Callable[[], object]) -> None:
        self._is_this, self.is_another = False, True
        lost()
