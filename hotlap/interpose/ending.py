"""What is said when a script has ended: which imposed settings were not in force, and why."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from hotlap.interpose.begin import active
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.reach import unreached
from hotlap.notes import Note


def tell_at_end(
    imposed: Imposed, notes: Sequence[Note], path: str | Path, said: Sequence[Note] = ()
) -> None:
    """Say it on standard error when this process ends by itself; at once if nothing is imposed.

    Args:
        imposed: What was to be in force.
        notes: What is known already; told with the rest.
        path: The settings file.
        said: What was told already, and is not told again; may grow until then.
    """
    process = os.getpid()

    def tell() -> None:
        if os.getpid() == process:  # a process that the script forked has an end of its own
            for line in lines(imposed, notes, said):
                print(line, file=sys.stderr)

    if imposed.names:
        atexit.register(tell)
    else:
        print(
            f"hotlap: nothing to put in force: {path} has PyTorch's defaults, and its provenance "
            "lists no setting as tuned",
            file=sys.stderr,
        )


def lines(imposed: Imposed, notes: Sequence[Note], said: Sequence[Note]) -> list[str]:
    """One line for each imposed setting that was not in force somewhere."""
    interposition = active()
    told = [*notes, *(interposition.notes if interposition else [])]
    names = {note["setting"] for note in told}
    seen = interposition.seen if interposition else None
    told += [note for note in unreached(imposed, seen) if note["setting"] not in names]
    return [
        f"hotlap: {note['setting']} was not in force: {note['reason']}"
        for note in told
        if note not in said
    ]
