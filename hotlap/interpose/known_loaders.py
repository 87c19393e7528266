"""Which DataLoader of a script is which: all that are made alike at one place are the same one.

A script makes some anew, each epoch or even each step. Others come about without
`DataLoader.__init__`: a class that builds itself (torchdata's StatefulDataLoader), a copy, one out
of a file. These are heard from their first pass on, and are known by what they are then.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from torch.utils.data import DataLoader, IterableDataset

from hotlap.interpose.place import Places, maker
from hotlap.interpose.seen import LoaderSeen, Seen, simple


class KnownLoaders:
    """Knows all DataLoaders of a script.

    Args:
        seen: Gets each new one.
        places: Tell where it was made.
    """

    def __init__(self, seen: Seen, places: Places) -> None:
        self._seen = seen
        self._places = places
        self._of: WeakKeyDictionary[DataLoader[Any], LoaderSeen] = WeakKeyDictionary()
        self._alike: dict[tuple[Any, ...], LoaderSeen] = {}

    def get(self, loader: Any) -> LoaderSeen | None:
        """What is known of it; None if nothing is."""
        return self._of.get(loader)

    def made(
        self,
        loader: Any,
        own: Mapping[str, Any],
        changed: Mapping[str, Any],
        frame: FrameType | None,
    ) -> LoaderSeen:
        """A loader was made with the script's `own` arguments, of which some were `changed`."""
        new = self._new(loader, own.get("batch_sampler"), own.get("num_workers", 0), frame)
        new.imposed = {name: simple(value) for name, value in changed.items()}
        return self._add(loader, new)

    def met(self, loader: Any, frame: FrameType | None) -> LoaderSeen | None:
        """A pass over a loader begins: what is known of it, from now on at the latest."""
        if not isinstance(loader, DataLoader):
            return None
        if (known := self._of.get(loader)) is not None:
            return known
        sized = getattr(loader, "batch_size", None) is not None
        order = None if sized else getattr(loader, "batch_sampler", None)
        new = self._new(loader, order, getattr(loader, "num_workers", 0), frame)
        new.by_itself = True
        return self._add(loader, new)

    def _new(
        self, loader: Any, batch_sampler: Any, num_workers: int, frame: FrameType | None
    ) -> LoaderSeen:
        # A class that builds itself has what its iterators need, and nothing else for sure.
        dataset, order = getattr(loader, "dataset", None), getattr(loader, "sampler", None)
        return LoaderSeen(
            name=type(loader).__name__,
            dataset=type(dataset).__name__,
            batch_size=getattr(loader, "batch_size", None),
            num_workers=num_workers,
            sampler=type(order if batch_sampler is None else batch_sampler).__name__,
            iterable=isinstance(dataset, IterableDataset),
            where=self._places.of(maker(frame, loader)),
        )

    def _add(self, loader: Any, new: LoaderSeen) -> LoaderSeen:
        key = (new.name, new.dataset, new.batch_size, new.num_workers, new.sampler, new.where)
        if (seen := self._alike.setdefault(key, new)) is new:
            self._seen.loaders.append(new)
        self._of[loader] = seen
        return seen
