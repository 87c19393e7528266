"""Linux's prctl(2), of which Python has nothing: what a process hears when its parent ends."""

from __future__ import annotations

import ctypes

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def prctl(option: int, value: int) -> None:
    """Call it; on Linux alone."""
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
