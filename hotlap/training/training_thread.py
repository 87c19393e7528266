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
        self._surely = False

    def trains(self, surely: bool = False) -> None:
        """This one does; `surely` in a backward pass.

        Within that, autograd may do a step or a further backward pass in a thread of its own.
        """
        this = threading.get_ident()
        if self._trains == this:
            self._surely |= surely
        elif self._trains is None or (surely and not (self._surely and self._lives())):
            self._trains, self._surely = this, surely

    def is_another(self, thread: int | None = None) -> bool:
        """Whether this thread, or the one given, is known to be another one."""
        return self._trains not in (None, thread or threading.get_ident())

    def _lives(self) -> bool:
        return any(thread.ident == self._trains for thread in threading.enumerate())
