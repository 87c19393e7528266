"""Process groups: a trial leads a session, and the kernel lets no such process choose its group.

A process that a shell has started leads its group only, and may ask to lead it once more; some
scripts do, to kill all that they have started. In a trial they get the same answer.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable


def allow_own_group() -> None:
    """Let `os.setpgrp()` and `os.setpgid(0, 0)` do nothing where they change nothing."""
    for name in ("setpgrp", "setpgid"):
        if hasattr(os, name):
            setattr(os, name, _where_it_changes(getattr(os, name)))


def _where_it_changes(plain: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(plain)
    def asked(*args: int) -> None:
        me = os.getpid()
        own = all(one in (0, me) for one in args)
        if not (own and os.getsid(0) == me == os.getpgid(0)):
            plain(*args)

    return asked
