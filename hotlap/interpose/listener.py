"""Listener: who wants to hear what a script does, as it does it. No torch here."""

from __future__ import annotations

from typing import Any, Protocol

from hotlap.interpose.seen import LoaderSeen


class Listener(Protocol):
    """Called from within the script; `seen` tells its loaders apart, however often made anew."""

    def begins(self, seen: LoaderSeen) -> None:
        """A pass over a DataLoader begins; its workers start after this."""

    def begun(self, seen: LoaderSeen, looked_s: float) -> None:
        """Its iterator is made, and its workers have started; no batch is asked for yet.

        Of that, hotlap itself has looked at the dataset for `looked_s`. Not told of a loader whose
        class goes its own way.
        """

    def is_over(self, before: LoaderSeen, seen: LoaderSeen) -> None:
        """The last pass that began over `before` is one over `seen`, as its first batch shows."""

    def asks(self, seen: LoaderSeen, iterator: Any) -> Any:
        """The script asks for a batch; what is returned, if not None, it gets instead of one."""

    def gives(self, seen: LoaderSeen, loader: Any, iterator: Any, batch: Any) -> None:
        """It gets one."""

    def ends(self, seen: LoaderSeen) -> None:
        """A pass has no batch left."""

    def forward(self, module: Any, trains: bool) -> None:
        """A root is called; `trains` with gradients and in training mode."""

    def backward(self, loss: Any) -> None:
        """A backward pass begins at `loss`, a tensor or several; not one within another."""

    def steps(self, optimizer: Any) -> None:
        """An optimizer is about to step."""

    def stepped(self, optimizer: Any) -> None:
        """It has."""
