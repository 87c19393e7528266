"""Ctrl-C while an entry script still imports: a word, and no traceback through its imports.

Imported before all else by tune.py and train.py; conf.cli.main takes over when it is there.
"""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130
"""The exit code, as a shell gives it to a program that SIGINT has ended."""


def _end(*_: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def raise_again() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt, as in any Python program."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)
