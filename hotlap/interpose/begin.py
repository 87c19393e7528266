"""The beginning of interposition: at once if torch is there, else right after its import.

A script may set environment variables that torch reads at its import (OMP_NUM_THREADS is one), so
hotlap must not import torch before the script does.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from hotlap.interpose.imposed import Imposed
from hotlap.unseen import unseen

if TYPE_CHECKING:
    from hotlap.interpose.interposition import Interposition

_active: Interposition | None = None
_begun = False


def begin(
    imposed: Imposed,
    installed: Callable[[Interposition], None] = lambda interposition: None,
    observe: bool = False,
    alone: bool = True,
    watch: bool = True,
) -> bool:
    """Interpose on this process, once.

    Args:
        imposed: What to put in force.
        installed: Called when everything is in its place.
        observe: As Interposition's.
        alone: As Interposition's.
        watch: As Interposition's.

    Returns:
        False if hotlap interposes on this process already: the first one stays.
    """
    global _begun
    if _begun:
        return False
    _begun = True

    def install() -> None:
        global _active
        from hotlap.interpose.interposition import Interposition

        _active = Interposition(imposed, observe, alone, watch).install()
        installed(_active)

    if "torch" in sys.modules:
        install()
    else:
        sys.meta_path.insert(0, _AfterImport("torch", install))
    return True


def active() -> Interposition | None:
    """The interposition on this process; None before torch was imported, or without any."""
    return _active


class _AfterImport(MetaPathFinder):
    """Calls `action` right after the first import of a module."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name = name
        self._action = action
        self._looking = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._name or self._looking:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Then(spec.loader, self._done)
        return spec

    def _done(self) -> None:
        # Not when it was looked for: a script may ask for a module without importing it.
        sys.meta_path.remove(self)
        self._action()


class _Then(Loader):
    """A module's own loader, and an action after it has done its work."""

    def __init__(self, own: Loader, action: Callable[[], None]) -> None:
        self._own = own
        self._action = action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    @unseen
    def exec_module(self, module: ModuleType) -> None:
        # The module shall not know that it was loaded in another way.
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        self._action()
