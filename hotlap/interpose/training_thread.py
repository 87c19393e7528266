"""The thread that trains, told from one that only fetches batches for it."""

from __future__ import annotations

import threading


class TrainingThread:
    """Knows which thread trains, once it has shown.

    Who asks for a batch in another one keeps training waiting or not, that cannot be told: batches
    go through a queue of the script's own.
    """

    def __init__(self) -> None:
        self._trains: int | None = None

    def trains(self, surely: bool = False) -> None:
        """This one does; `surely` in a backward pass: autograd may step in a thread of its own."""
        if surely or self._trains is None:
            self._trains = threading.get_ident()

    def is_another(self, thread: int | None = None) -> bool:
        """Whether this thread, or the one given, is known to be another one."""
        return self._trains not in (None, thread or threading.get_ident())
