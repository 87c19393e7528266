"""Pace: how many optimizer steps come with each batch of a loader, as far as that can be told.

What came before the first step may have been fetched ahead, all of an epoch even. So only later
steps and batches are counted, and only between two steps that a batch came right before.
"""

from __future__ import annotations

import threading


class Pace:
    """The steps that follow one loader's batches."""

    def __init__(self) -> None:
        self._n_given = 0  # since the last step
        self._gave_in: int | None = None  # which thread
        self._elsewhere = False  # a thread of the script's own fetches ahead
        self._stepped = False
        self._n_open = 0  # steps since the last one that a batch came before
        self._n_steps = self._n_batches = 0
        self._none = self._several = False  # batches that came before a later step

    def gives(self) -> None:
        """The loader gives a batch that may be trained on."""
        self._n_given += 1
        self._gave_in = threading.get_ident()

    def steps(self) -> None:
        """An optimizer stepped on its batches."""
        n, self._n_given = self._n_given, 0
        self._elsewhere |= n > 0 and self._gave_in != threading.get_ident()
        if not self._stepped:
            self._stepped = True
            return
        self._n_open += 1
        self._none |= n == 0
        self._several |= n > 1
        if n:
            self._n_steps += self._n_open
            self._n_batches += n
            self._n_open = 0

    @property
    def steps_per_batch(self) -> float | None:
        """Steps with each batch; None where batches are fetched ahead, or nothing is known yet.

        Several batches before one step and none before another are a store that is filled again.
        """
        if not self._n_batches or self._elsewhere or (self._none and self._several):
            return None
        return self._n_steps / self._n_batches
