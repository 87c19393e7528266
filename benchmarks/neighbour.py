"""A neighbour on the machine: busy loops that are switched on and off at random times."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading

MEAN_S = 4.0
"""Mean time that it stays on, or off: longer than a trial, shorter than a study."""

BUSY = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(100_000):
        pass
"""
"""Until it is killed, or the process that has it is: nobody else would end it."""


class Neighbour:
    """Occupies cores on and off while it is entered.

    Args:
        n: Busy loops at a time.
        seed: Of the times.
    """

    def __init__(self, n: int, seed: int) -> None:
        self._n = n
        self._random = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live)

    def __enter__(self) -> Neighbour:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _live(self) -> None:
        while not self._wait():
            words = [sys.executable, "-c", BUSY, str(os.getpid())]
            busy = [subprocess.Popen(words) for _ in range(self._n)]
            try:
                self._wait()
            finally:
                for process in busy:
                    process.kill()
                    process.wait()

    def _wait(self) -> bool:
        """A random time; True if it is over meanwhile."""
        return self._over.wait(self._random.expovariate(1 / MEAN_S))
