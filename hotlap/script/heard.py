"""Heard: stands before the listener of a script, and hears what no unit of training tells."""

from __future__ import annotations

from typing import Any, Protocol


class Hears(Protocol):
    """Who wants to hear it."""

    def before_stepping(self, optimizer: Any) -> None:
        """An optimizer is about to step."""

    def has_stepped(self, optimizer: Any) -> None:
        """It has."""

    def besides(self) -> None:
        """The script does something that is hardly training."""


class Heard:
    """A Listener that hands everything on.

    Args:
        listener: The next one.
        hears: Who hears it first.
    """

    def __init__(self, listener: Any, hears: Hears) -> None:
        self._listener = listener
        self._hears = hears
        self.asks, self.backward = listener.asks, listener.backward  # not looked for at each step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listener, name)

    def gives(self, seen: Any, loader: Any, iterator: Any, batch: Any) -> None:
        """A batch has come."""
        if not self._listener.trains(seen):
            self._hears.besides()
        self._listener.gives(seen, loader, iterator, batch)

    def forward(self, module: Any, trains: bool) -> None:
        """A root is called."""
        if not trains:
            self._hears.besides()
        self._listener.forward(module, trains)

    def steps(self, optimizer: Any) -> None:
        """An optimizer is about to step."""
        self._hears.before_stepping(optimizer)
        self._listener.steps(optimizer)

    def stepped(self, optimizer: Any) -> None:
        """It has."""
        self._hears.has_stepped(optimizer)
        self._listener.stepped(optimizer)
