"""Inner loaders: those that a dataset uses itself, within another loader's pass.

Their batches become samples of the other one, and are no training data. They stay as the script
made them, since a worker may have no workers of its own, and pins no memory.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from torch.utils.data import DataLoader

from hotlap.settings import Settings

CONTEXT = "multiprocessing_context"
CONTEXT_KEPT = "_DataLoader__multiprocessing_context"
"""Where a loader keeps it: the argument's own name is a property."""


class Inner(threading.local):
    """Knows in whose work this thread is: what else is used meanwhile is its dataset's own.

    A loader's workers are forked within that, and so they know it too.

    Attributes:
        outer: In whose work; None in nobody's.
    """

    def __init__(self) -> None:
        self.outer: Any = None

    @contextlib.contextmanager
    def of(self, outer: Any) -> Iterator[None]:
        """Meanwhile `outer`, a loader as a rule, makes an iterator or draws samples."""
        before, self.outer = self.outer, outer
        try:
            yield
        finally:
            self.outer = before

    def has(self, loader: Any) -> bool:
        """Whether `loader` is used within another one's work."""
        return self.outer is not None and self.outer is not loader


inner = Inner()


class _Made(NamedTuple):
    """The script's arguments in place of imposed ones, and the attributes that they would be."""

    own: dict[str, Any]
    attributes: dict[str, Any]


class AsMade:
    """Loaders with imposed arguments, as the script alone would have made them."""

    def __init__(self) -> None:
        self._made: WeakKeyDictionary[DataLoader[Any], _Made] = WeakKeyDictionary()

    def keep(self, loader: DataLoader[Any], own: Mapping[str, Any]) -> None:
        """A loader was made; `own` are the script's values of what is imposed, with prefetch."""
        attributes = dict(own)
        if own["prefetch_factor"] is None and own.get("num_workers", loader.num_workers):
            attributes["prefetch_factor"] = Settings.prefetch_factor  # as torch has it by itself
        if CONTEXT in own:
            context = attributes.pop(CONTEXT)
            if isinstance(context, str):
                context = multiprocessing.get_context(context)
            attributes[CONTEXT_KEPT] = context
        if "persistent_workers" in own:
            attributes["_iterator"] = None  # what is kept has the imposed workers
        self._made[loader] = _Made(dict(own), attributes)

    def behind(
        self, given: Mapping[str, Any], is_same: Callable[[DataLoader[Any], str], bool]
    ) -> Mapping[str, Any]:
        """The script's arguments of the loader that another one is made from; empty if none is.

        What was not handed on contradicts nothing, and stays torch's default.

        Args:
            given: The other one's arguments.
            is_same: Whether what a loader has in an attribute was given, or is the default of what
                was not.
        """
        for reference in reversed(self._made.keyrefs()):  # other threads may make some meanwhile
            loader = reference()
            if loader is None or loader.dataset is not given["dataset"]:
                continue
            if (made := self._made.get(loader)) is not None:
                same = {name for name in ("num_workers", *made.own) if is_same(loader, name)}
                if given.keys() & {"num_workers", *made.own} <= same:
                    return {name: made.own[name] for name in made.own if name in same}
        return {}

    def of(self, loader: DataLoader[Any]) -> dict[str, Any]:
        """Its attributes that are imposed, with the script's values; empty if there are none."""
        return made.attributes if (made := self._made.get(loader)) is not None else {}

    def put_back(self, loader: DataLoader[Any]) -> None:
        """Give it these values; not by setattr, which torch forbids for some."""
        vars(loader).update(self.of(loader))
        self._made.pop(loader, None)
