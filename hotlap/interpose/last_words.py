"""What is said when a script has ended: which imposed settings were not in force, and why.

And which of the flags and thread counts that it has set itself were overruled.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from hotlap.interpose.begin import active
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.reach import unreached
from hotlap.interpose.say import say
from hotlap.interpose.seen import Seen, SetSeen
from hotlap.notes import Note


def tell_at_end(
    imposed: Imposed, notes: Sequence[Note], path: str | Path, said: Sequence[Note] = ()
) -> None:
    """Say it on standard error when this process ends by itself; at once if nothing is imposed.

    A process of `multiprocessing` (a loader's worker that imports the script anew) has something to
    say only if it trains.

    Args:
        imposed: What was to be in force.
        notes: What is known already; told with the rest.
        path: The settings file.
        said: What was told already, and is not told again; may grow until then.
    """
    process, helps = os.getpid(), is_helper()

    def tell() -> None:
        if os.getpid() != process:  # forked by the script: it has an end of its own
            return
        if not helps or _trained():
            for line in lines(imposed, notes, said):
                say(line)

    if imposed.names:
        atexit.register(tell)
    elif not helps:
        why = "has PyTorch's defaults, and its provenance lists no setting as tuned"
        if imposed.settings.changed():  # which only a file that was tuned for a script can have
            why = "has a study's baseline, and its provenance lists no setting as tuned or imposed"
        say(f"nothing to put in force: {path} {why}")


def is_helper() -> bool:
    """Whether `multiprocessing` started this process, or imports the script for others just now."""
    process = multiprocessing.current_process()
    # The first is known only after the import of the script, the second is unset by then.
    return multiprocessing.parent_process() is not None or getattr(process, "_inheriting", False)


def lines(imposed: Imposed, notes: Sequence[Note], said: Sequence[Note]) -> list[str]:
    """One line for each imposed setting that was not in force somewhere, one for the overruled."""
    interposition = active()
    names = {note["setting"] for note in notes}
    later = interposition.notes if interposition else []
    told = [*notes, *(note for note in later if note["setting"] not in names)]
    names = {note["setting"] for note in told}
    seen = interposition.seen if interposition else None
    told += [note for note in unreached(imposed, seen) if note["setting"] not in names]
    lost = {note["setting"] for note in told}
    return [
        *(f"{n['setting']} was not in force: {n['reason']}" for n in told if n not in said),
        *(overruled(imposed, seen, lost) if seen else []),
    ]


def overruled(imposed: Imposed, seen: Seen, lost: Collection[str] = ()) -> list[str]:
    """One line for all that the script has set to another value than the one that is imposed.

    Args:
        imposed: What was to be in force.
        seen: What the script has set.
        lost: Settings of which it is told already that they were not.
    """
    found = [
        f"{one.name}={one.value} ({one.where})"
        for one in seen.sets.values()
        if one.overruled and _differs(one, imposed, lost)
    ]
    were = "were" if found[1:] else "was"
    return [f"the script's own {', '.join(found)} {were} overruled"] if found else []


def _differs(one: SetSeen, imposed: Imposed, lost: Collection[str]) -> bool:
    """Whether the script had something else than it has set.

    A switch of one attention kernel says of that one alone whether it may be taken, and it is the
    script's own wherever the imposed kernel does not come into force.
    """
    value = imposed.value(one.name)
    if one.name != "sdpa_backend":
        return bool(one.value != value)
    kernel = str(one.value).split()[0]
    may = "on" if value in (kernel, "default") else "off"  # as in hotlap/flags.py, without torch
    return one.name not in lost and one.value != f"{kernel} {may}"


def _trained() -> bool:
    interposition = active()
    return interposition is not None and interposition.seen.n_steps > 0
