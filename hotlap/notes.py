"""Notes: which settings could not be put in force, and why.

A setting that this machine, this torch or this workload cannot take is no reason to stop a
training run; but nobody may believe that it is in force. So each one leaves a note.
"""

from __future__ import annotations

import logging

Note = dict[str, str]
"""{"setting": its name, "reason": one line}."""

logger = logging.getLogger("hotlap")


def tell(notes: list[Note] | None, setting: str, reason: str) -> None:
    """Add a note to `notes` once; without a list it goes to the log as a warning."""
    note = {"setting": setting, "reason": reason}
    if notes is None:
        logger.warning("%s is not in force: %s", setting, reason)
    elif note not in notes:
        notes.append(note)


def one_line(error: BaseException) -> str:
    """The first line of an error's text, or its class where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
