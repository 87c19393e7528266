"""How a full run is asked to stop: by a signal, which its loader workers do not hear.

Ctrl-C is the tuner's, which then asks the training process alone. `systemctl stop` and batch
systems send the signal to all processes at once. torch has each loader worker end at SIGTERM and
the training process raise an error at that, wherever it stands: no checkpoint could be saved.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader

from hotlap.unseen import unseen

STOPS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that ask to save a checkpoint and end; the runner sends the first."""


class DeafWorker:
    """Lets a loader worker ignore `STOPS`, then does the user's part.

    A class and no closure, so that the start method "spawn" can pickle it.

    Args:
        then: The user's own worker_init_fn, or None.
    """

    def __init__(self, then: Callable[[int], None] | None) -> None:
        self.then = then

    @unseen
    def __call__(self, worker_id: int) -> None:
        """Called by torch in each new worker, after torch's own handlers were installed."""
        for number in STOPS:
            signal.signal(number, signal.SIG_IGN)
        if self.then is not None:
            self.then(worker_id)


def deafen(loader: object) -> None:
    """Let the workers that a DataLoader starts from now on go on at `STOPS`."""
    if isinstance(loader, DataLoader):
        loader.worker_init_fn = DeafWorker(loader.worker_init_fn)


def on_stop(do: Callable[[], None]) -> None:
    """Call `do` when this process is asked to stop; under nohup SIGHUP stays ignored."""

    def stop(*_: Any) -> None:
        # What has stopped us may have ended a worker that was just starting: torch's handler
        # would raise in the middle of a step. The loader finds it out when it waits for a batch.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        do()

    for number in STOPS:
        if number == signal.SIGTERM or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)
