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
from hotlap.interpose.samplers import batch_size_of, is_random, sampler_of
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
        new = self._new(loader, own.get("num_workers", 0), frame)
        new.imposed = {name: simple(value) for name, value in changed.items()}
        return self._add(loader, new)

    def met(self, loader: Any, frame: FrameType | None) -> LoaderSeen | None:
        """A pass over a loader begins: what is known of it, from now on at the latest."""
        if not isinstance(loader, DataLoader):
            return None
        if (known := self._of.get(loader)) is not None:
            return known
        new = self._new(loader, getattr(loader, "num_workers", 0), frame)
        new.by_itself = True
        return self._add(loader, new)

    def _new(self, loader: Any, num_workers: int, frame: FrameType | None) -> LoaderSeen:
        # A class that builds itself has what its iterators need, and nothing else for sure.
        dataset, sampler = getattr(loader, "dataset", None), sampler_of(loader)
        return LoaderSeen(
            name=type(loader).__name__,
            dataset=type(dataset).__name__,
            batch_size=batch_size_of(loader),
            num_workers=num_workers,
            sampler=type(sampler).__name__,
            iterable=isinstance(dataset, IterableDataset),
            where=self._places.of(maker(frame, loader)),
            shuffles=is_random(sampler),
        )

    def _add(self, loader: Any, new: LoaderSeen) -> LoaderSeen:
        key = (new.name, new.dataset, new.batch_size, new.num_workers, new.sampler, new.where)
        if (seen := self._alike.setdefault(key, new)) is new:
            self._seen.loaders.append(new)
        self._of[loader] = seen
        return seen
