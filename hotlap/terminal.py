"""A terminal for a trial's standard input, where the tuner has one: nobody types on it.

Some scripts ask the terminal for its size when they are imported, and die where there is none. The
tuner's own terminal stays the tuner's: a Ctrl-C there must not reach the trial.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys

_kept: list[int] = []
"""The terminal's other ends. Without them each call on the terminal fails; they end with us."""


def take_terminal(rows: int, columns: int) -> str:
    """Make a new terminal this process's standard input and, if it can be, its controlling one.

    Each reading from it gives the end of the file, at once: `input()` raises EOFError. Standard
    output and standard error stay what they are. What is written to the terminal itself
    (`/dev/tty`) is read by nobody.

    To be called in a process that leads a session of its own and has no terminal.

    Args:
        rows: Height of the tuner's terminal in characters.
        columns: Width.

    Returns:
        Why there is no terminal, in one sentence; "" if there is one.
    """
    if sys.platform == "win32":
        return "Windows has no such terminals"
    import fcntl
    import termios

    try:
        ours, theirs = os.openpty()
    except OSError as error:
        return f"there is no terminal for the script's standard input ({error.strerror})"
    _kept.append(ours)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
    mode = termios.tcgetattr(theirs)
    # Reading waits for no line and no character, so it gives nothing, which means the end. An
    # end-of-file character waiting there would serve one reading alone, and a script that
    # throws away what was typed before it asks (getpass does) would wait for ever.
    mode[3] &= ~(termios.ICANON | termios.ECHO)
    mode[6][termios.VMIN] = mode[6][termios.VTIME] = 0
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    os.dup2(theirs, 0)
    os.close(theirs)
    with contextlib.suppress(OSError):  # only a session's leader can; `stty` works all the same
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    return ""
