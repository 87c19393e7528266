"""Which DataLoader of a script is which: all that are made alike at one place are the same one.

A script makes some anew, each epoch or even each step. Those of them that are open at the same time
are two all the same: of two sources, made by one function. One whose pass begins while another's
is open is taken for a second one, until its first batch is asked for: `it = iter(make())` lets the
pass before go only then.

Others come about without `DataLoader.__init__`: a class that builds itself (torchdata's
StatefulDataLoader), a copy, one out of a file. These are heard from their first pass on, and are
known by what they are then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
        in_use: Whether somebody goes through a loader that is known so, and is not the given one.
    """

    def __init__(
        self, seen: Seen, places: Places, in_use: Callable[[LoaderSeen, Any], bool]
    ) -> None:
        self._seen = seen
        self._places = places
        self._in_use = in_use
        self._of: WeakKeyDictionary[DataLoader[Any], LoaderSeen] = WeakKeyDictionary()
        self._alike: dict[tuple[Any, ...], list[LoaderSeen]] = {}
        self._before: WeakKeyDictionary[DataLoader[Any], LoaderSeen] = WeakKeyDictionary()

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
            return self._apart(loader, known)
        new = self._new(loader, getattr(loader, "num_workers", 0), frame)
        new.by_itself = True
        return self._apart(loader, self._add(loader, new))

    def instead_of(self, loader: Any) -> LoaderSeen | None:
        """What it was known as before its pass began; None if it still is, or that is settled."""
        return self._before.get(loader)

    def settled(self, loader: Any, now: LoaderSeen, before: LoaderSeen) -> LoaderSeen:
        """Its first batch is asked for: is it what it is known as `now`, or was `before`?"""
        self._before.pop(loader, None)
        if not self._in_use(before, loader):
            self._of[loader] = before
            return before
        if not any(one is now for one in self._seen.loaders):
            self._seen.loaders.append(now)
        return now

    def _apart(self, loader: Any, known: LoaderSeen) -> LoaderSeen:
        """What to take it for, now that its pass begins."""
        if not self._in_use(known, loader):
            return known
        alike = self._alike[_key(known)]
        free = next((one for one in alike if not self._in_use(one, loader)), None)
        if free is None:
            alike.append(free := known.beside())
        self._before.setdefault(loader, known)
        self._of[loader] = free
        return free

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
        alike = self._alike.setdefault(_key(new), [new])
        if alike[0] is new:
            self._seen.loaders.append(new)
        self._of[loader] = alike[0]
        return alike[0]


def _key(seen: LoaderSeen) -> tuple[Any, ...]:
    return seen.name, seen.dataset, seen.batch_size, seen.num_workers, seen.sampler, seen.where
