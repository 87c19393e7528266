"""Told: why a job ended early, on standard error, and once.

Whoever has to wait after an error, as for a tracking server, tells it first.
"""

from __future__ import annotations

import contextlib
import sys
import traceback

from hotlap.errors import HotlapError
from hotlap.room import no_room

TOLD = "told_by_hotlap"
"""Attribute of an error that has been told."""


def tell(error: BaseException) -> None:
    """Say why a job ended, unless that has been said; an interruption's text says how to go on."""
    if getattr(error, TOLD, False):
        return
    setattr(error, TOLD, True)
    say(_text(error))


def say(text: str) -> None:
    """Print to standard error; where nobody reads it any more, a closed terminal, to nobody."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _text(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "; ".join(["interrupted", *map(str, error.args)])
    if isinstance(error, HotlapError):
        return str(error)
    if full := no_room(error):
        return f"{full}. Make room, and type the same again"
    return "".join(traceback.format_exception(error))
