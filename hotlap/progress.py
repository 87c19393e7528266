"""Long work before training, such as generating data: how far it is, for whoever wants to know.

    for i, item in enumerate(items): ...; hotlap.preparing("reading files", i + 1, len(items))

In a worker the tuner shows it; elsewhere it is a line on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

Listener = Callable[[str, int, int], None]

TO_THE_END = "\x1b[K"
"""Has a terminal clear what a longer line before has left."""


def tenths(n_done: int, n_wanted: int) -> int:
    """How many tenths of the way are done; of nothing, such as an empty folder, all ten are."""
    return n_done * 10 // n_wanted if n_wanted else 10


class _OnStandardError:
    """A line that counts on a terminal, a line each tenth of the way in a log."""

    def __init__(self) -> None:
        self._told: tuple[str, int] | None = None

    def __call__(self, what: str, n_done: int, n_wanted: int) -> None:
        text = f"hotlap: {what}: {n_done} of {n_wanted}"
        tenth = (what, tenths(n_done, n_wanted))
        if sys.stderr.isatty():
            end = "\n" if n_done == n_wanted else ""
            print(f"\r{text}{TO_THE_END}", end=end, file=sys.stderr, flush=True)
        elif tenth != self._told:
            print(text, file=sys.stderr, flush=True)
        self._told = tenth


_listener: Listener = _OnStandardError()


def preparing(what: str, n_done: int, n_wanted: int) -> None:
    """Tell that `n_done` of `n_wanted` parts of the work `what` are done."""
    _listener(what, n_done, n_wanted)


def listen(listener: Listener) -> None:
    """From now on `listener` is told instead of standard error."""
    global _listener
    _listener = listener
