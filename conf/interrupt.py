"""Signals that end a study. While an entry script imports: a word, no traceback through imports.

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


def end_as_on_ctrl_c() -> None:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt: `docker stop`, a batch system, a terminal.

    The first of them only: a closed terminal sends several SIGHUPs, and what a full run saves at
    the first must not be lost by the second. Ctrl-C still ends it at once.
    """

    def end(*_: object) -> None:
        for number in heard:
            signal.signal(number, lambda *_: None)
        raise KeyboardInterrupt

    heard = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) == signal.SIG_DFL]
    for number in heard:
        signal.signal(number, end)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)
