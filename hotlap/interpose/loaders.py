"""DataLoaders of a script: imposed arguments at their making, batches counted as they come.

`DataLoader.__init__` is replaced on the class, so subclasses, loaders that a library makes anew and
names imported before are reached. Nothing is put on the loaders but arguments, and no random number
is drawn. They are copied and pickled as the script made them: a copy has nothing imposed, since
nobody would watch its workers. It is heard, as is a class that builds itself (known_loaders.py).
Those that a dataset uses itself are left alone (inner.py).
"""

from __future__ import annotations

import functools
import multiprocessing
import sys
import weakref
from dataclasses import dataclass
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from hotlap.interpose.followed import Followed
from hotlap.interpose.holders import is_gone_through
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.inner import AsMade, inner
from hotlap.interpose.known_loaders import KnownLoaders
from hotlap.interpose.listener import Listener
from hotlap.interpose.loader_arguments import Arguments, LoaderArguments
from hotlap.interpose.patches import Patches
from hotlap.interpose.place import Places
from hotlap.interpose.seen import LoaderSeen, Seen
from hotlap.interpose.workers import Workers
from hotlap.loading import draw_seed
from hotlap.notes import Note, tell

DAEMONIC = (
    "its loader is used in a daemonic process (multiprocessing), which may have no processes of "
    "its own, so it stays as the script has it"
)

PASS = "_hotlap_pass"
"""An iterator's attribute: its Pass, which is asked for at each batch."""

HELD = "_hotlap_loader"
"""An iterator's attribute while its pass lasts: in `for x in DataLoader(...)` nobody else holds the
loader. Not longer, since a loader whose workers hotlap keeps holds its iterator, until another one
takes its place (see workers.py)."""


@dataclass
class Pass:
    """An iterator's loader, not held by it, and what is known of that.

    Attributes:
        before: What the loader was known as when the pass began, until its first batch is asked
            for; None if that is the same.
        open: Whether it may have batches left.
    """

    seen: LoaderSeen
    loader: weakref.ref[DataLoader[Any]]
    before: LoaderSeen | None = None
    open: bool = True


class Loaders:
    """Watches all DataLoaders, and imposes loader settings on them."""

    def __init__(self, imposed: Imposed, notes: list[Note], seen: Seen, places: Places) -> None:
        self._imposed = imposed
        self._notes = notes
        self._known = KnownLoaders(seen, places, self._in_use)
        self._passes: WeakKeyDictionary[Any, Pass] = WeakKeyDictionary()  # by their iterators
        self._beginning: Any = None  # a loader whose own __iter__ goes on
        self._followed = Followed(self._is_open)
        self._as_made = AsMade()
        self._arguments = LoaderArguments(imposed, notes, self._as_made)
        self._workers = Workers(imposed, notes)
        self.listener: Listener | None = None

    def install(self, patches: Patches) -> None:
        """Replace the constructor, the begin of a pass and the iterators' methods."""
        make: Any = DataLoader.__init__
        go: Any = DataLoader.__iter__
        get: Any = DataLoader._get_iterator
        begin: Any = _BaseDataLoaderIter.__init__
        following: Any = _BaseDataLoaderIter.__next__
        again: Any = _BaseDataLoaderIter._reset
        state: Any = getattr(DataLoader, "__getstate__", vars)  # object has one since Python 3.11
        known, wanted = self._known, bool(self._arguments.wanted)

        @functools.wraps(make)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            its = watcher._arguments.of(self, args, kwargs, watcher._stays(self))
            make(self, *its.args, **its.kwargs)
            watcher._made(self, its)

        @functools.wraps(go)
        def __iter__(self: Any) -> Any:
            if watcher._stays(self):
                watcher._as_made.put_back(self)
                if (stays := known.get(self)) is not None:
                    stays.imposed.clear()
            if inner.has(self):
                return go(self)
            seen, listener = watcher._known_as(self, sys._getframe(1)), watcher.listener
            if listener is not None and seen is not None:
                listener.begins(seen)
            looked_s = watcher._workers.before_pass(self)
            before, watcher._beginning = watcher._beginning, self
            try:
                iterator = go(self)
            finally:
                watcher._beginning = before
            watcher._workers.begun(self)
            if listener is not None and seen is not None:
                listener.begun(seen, looked_s)
            return iterator

        @functools.wraps(get)
        def _get_iterator(self: Any) -> Any:
            with inner.of(self):
                return get(self)

        @functools.wraps(begin)
        def begun(self: Any, loader: Any) -> None:
            seen = watcher._met(loader, sys._getframe(1))
            begin(self, loader)
            if seen is not None:
                watcher._begun(self, loader, seen)

        @functools.wraps(again)
        def reset(self: Any, loader: Any, first_iter: bool = False) -> None:
            # Called for each pass of a loader that keeps its workers, and by each new iterator
            # with workers for its first one.
            seen = None if first_iter else watcher._met(loader, sys._getframe(1))
            again(self, loader, first_iter)
            if seen is not None and PASS in vars(self):
                watcher._begun(self, loader, seen)
                if watcher._workers.keeps(loader):
                    draw_seed(loader)  # the script's own loader makes a new iterator here
                    if watcher._workers.has_own(loader):  # which asks for the order once more
                        self._sampler_iter = iter(self._index_sampler)

        @functools.wraps(following)
        def __next__(self: Any) -> Any:
            # Runs at each batch: hardly a line too many.
            one, listener = self.__dict__.get(PASS), watcher.listener
            seen, loader = (None, None) if one is None else (one.seen, one.loader())
            loader = self.__dict__.get(HELD) if loader is None else loader
            if (before := inner.outer) is not None and before is not loader:  # as inner.has says
                return following(self)
            if one is not None and one.before is not None:
                seen = watcher._settled(one, one.before, loader)
            if listener is not None and seen is not None:
                if (held := listener.asks(seen, self)) is not None:
                    return held
            if wanted and loader is not None:
                watcher._workers.asks(loader)
            inner.outer = self if loader is None else loader
            try:
                batch = following(self)
            except StopIteration:
                inner.outer = before
                if wanted and loader is not None:
                    watcher._workers.batch(loader, ended=True)
                if listener is not None and seen is not None:
                    listener.ends(seen)
                vars(self).pop(HELD, None)
                if one is not None:
                    one.open = False
                watcher._followed.ends(seen)
                raise
            finally:
                inner.outer = before
            if seen is not None:
                watcher._followed.gives(seen)
            if wanted and loader is not None:
                watcher._workers.batch(loader)
            if listener is not None and seen is not None and loader is not None:
                listener.gives(seen, loader, self, batch)
            return batch

        def __getstate__(self: Any) -> Any:
            found = state(self)
            return {**found, **watcher._as_made.of(self)} if isinstance(found, dict) else found

        watcher = self
        patches.put(DataLoader, "__init__", __init__)
        patches.put(DataLoader, "__iter__", __iter__)
        patches.put(DataLoader, "_get_iterator", _get_iterator)
        patches.put(DataLoader, "__getstate__", __getstate__)
        patches.put(_BaseDataLoaderIter, "__init__", begun)
        patches.put(_BaseDataLoaderIter, "_reset", reset)
        patches.put(_BaseDataLoaderIter, "__next__", __next__)

    def _begun(self, iterator: Any, loader: Any, seen: LoaderSeen) -> None:
        """An iterator begins a pass."""
        one = Pass(seen, weakref.ref(loader), self._known.instead_of(loader))
        self._passes[iterator] = vars(iterator)[PASS] = one
        vars(iterator)[HELD] = self._holdable(loader)
        seen.n_iterators += 1

    def stepped(self) -> None:
        """An optimizer stepped."""
        self._followed.stepped()

    def _is_open(self, seen: LoaderSeen) -> bool:
        return bool(self._open(seen))

    def _in_use(self, seen: LoaderSeen, but: Any) -> bool:
        """Whether somebody goes through a loader that is known so, and is not `but`."""
        loaders = [one.loader() for one in self._open(seen)]
        return any(loader is not but and is_gone_through(loader) for loader in loaders)

    def _open(self, seen: LoaderSeen) -> list[Pass]:
        # Other threads may begin passes meanwhile. No iterator is held: it is looked who holds it.
        found = [self._pass_of(iterator) for iterator in self._passes.keyrefs()]
        return [one for one in found if one is not None and one.open and one.seen is seen]

    def _pass_of(self, reference: weakref.ref[Any]) -> Pass | None:
        iterator = reference()
        return None if iterator is None else self._passes.get(iterator)

    def _known_as(self, loader: Any, frame: FrameType) -> LoaderSeen | None:
        """A pass begins: what is known of its loader."""
        if (seen := self._known.met(loader, frame)) is not None:
            self._workers.known_as(loader, seen)
        return seen

    def _settled(self, one: Pass, before: LoaderSeen, loader: Any) -> LoaderSeen:
        """The first batch of a pass is asked for, and it is sure what its loader is known as."""
        now, one.before = one.seen, None
        if loader is not None:
            one.seen = self._known.settled(loader, now, before)
        if one.seen is not now:
            now.n_iterators -= 1
            one.seen.n_iterators += 1
            self._workers.known_as(loader, one.seen)
            if self.listener is not None:
                self.listener.is_over(now, one.seen)
        return one.seen

    def _met(self, loader: Any, frame: FrameType) -> LoaderSeen | None:
        """A pass begins, of a class perhaps that does not come here by its `__iter__`."""
        if inner.has(loader):
            return self._known.get(loader)
        seen = self._known_as(loader, frame)
        if seen is not None and self.listener is not None and self._beginning is not loader:
            self.listener.begins(seen)
        return seen

    def _stays(self, loader: Any) -> bool:
        """Whether a loader stays as the script has it."""
        if inner.has(loader):
            return True
        if not multiprocessing.current_process().daemon:
            return False
        for name in self._arguments.wanted:
            tell(self._notes, name, DAEMONIC)
        return True

    def _holdable(self, loader: Any) -> Any:
        """What an iterator may hold of its loader during a pass.

        One that keeps its workers because the script wants it holds its iterator for good, so that
        a pass which is broken off would keep both until the garbage collector comes: in place of it
        another one with the same attributes, which holds none.
        """
        if not loader.persistent_workers or self._workers.keeps(loader):
            return loader
        stand_in: Any = object.__new__(DataLoader)
        vars(stand_in).update(vars(loader), _iterator=None)
        return stand_in

    def _made(self, loader: Any, its: Arguments) -> None:
        seen = self._known.made(loader, its.own, its.changed, sys._getframe(2))
        if its.changed:
            self._workers.made(loader, its.own, seen)
        self._arguments.made(loader, its)
