"""Patches: attributes of torch's classes and modules replaced, and put back in one go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotlap.unseen import unseen


class Patches:
    """Replaces attributes and remembers what was there."""

    def __init__(self) -> None:
        self._done: list[Callable[[], None]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Set `owner.name`; a class gets the attribute itself and not through its metaclass.

        No warning names a function that is put there.
        """
        mine = name in vars(owner)
        before = vars(owner).get(name)
        setattr(owner, name, unseen(value))

        def back() -> None:
            if mine:
                setattr(owner, name, before)
            else:
                delattr(owner, name)

        self._done.append(back)

    def on_undo(self, action: Callable[[], None]) -> None:
        """Call `action` when the patches are undone: a hook's own `remove`."""
        self._done.append(action)

    def undo(self) -> None:
        """Put everything back, the last one first."""
        while self._done:
            self._done.pop()()
