"""DataLoaders of a script: imposed arguments at their making, batches counted as they come.

`DataLoader.__init__` is replaced on the class, so subclasses, loaders that a library makes anew and
names imported before are reached. Nothing is put on the loaders but arguments, and no random number
is drawn. They are copied and pickled as the script made them: a copy has nothing imposed, since
nobody would watch its workers. It is heard, as is a class that builds itself (known_loaders.py).
Those that a dataset uses itself are left alone (inner.py).
"""

from __future__ import annotations

import functools
import inspect
import multiprocessing
import sys
import weakref
from types import FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from torch.utils.data import DataLoader, IterableDataset, SequentialSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from hotlap.errors import SettingsError
from hotlap.interpose.followed import Followed
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.inner import AsMade, inner
from hotlap.interpose.known_loaders import KnownLoaders
from hotlap.interpose.listener import Listener
from hotlap.interpose.patches import Patches
from hotlap.interpose.place import Places
from hotlap.interpose.seen import LoaderSeen, Seen
from hotlap.interpose.workers import Workers
from hotlap.loading import arguments, draw_as_new, given_settings
from hotlap.notes import Note, tell
from hotlap.settings import LOADER_SETTINGS, Settings

STREAM = (
    "its dataset is a stream (IterableDataset): each worker would give the whole stream again "
    "unless the dataset itself shares it out, so the script's own number of workers stays"
)
DAEMONIC = (
    "its loader is used in a daemonic process (multiprocessing), which may have no processes of "
    "its own, so it stays as the script has it"
)
DEFAULTS = {"prefetch_factor": Settings.prefetch_factor}
"""Arguments whose default torch works out itself."""

HELD = "_hotlap_loader"
"""An iterator's attribute while its pass lasts: in `for x in DataLoader(...)` nobody else holds the
loader. Not longer, since a loader whose workers hotlap keeps holds its iterator, until another one
takes its place (see workers.py)."""

THEIRS = ("dataset", "sampler", "batch_sampler", "collate_fn", "generator")
"""Arguments that only the script gives: compared by identity, never by their own `==`."""


class Pass(NamedTuple):
    """An iterator's loader, not held by it, and what is known of that."""

    seen: LoaderSeen
    loader: weakref.ref[DataLoader[Any]]


class Loaders:
    """Watches all DataLoaders, and imposes loader settings on them."""

    def __init__(self, imposed: Imposed, notes: list[Note], seen: Seen, places: Places) -> None:
        self._imposed = imposed
        self._wanted = [name for name in LOADER_SETTINGS if name in imposed]
        self._notes = notes
        self._known = KnownLoaders(seen, places)
        self._signature = inspect.signature(DataLoader.__init__)
        self._passes: WeakKeyDictionary[Any, Pass] = WeakKeyDictionary()  # by their iterators
        self._beginning: Any = None  # a loader whose own __iter__ goes on
        self._followed = Followed(self._is_open)
        self._as_made = AsMade()
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
        known, passes, wanted = self._known, self._passes, bool(self._wanted)

        @functools.wraps(make)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            new_args, new_kwargs, changed = watcher._arguments(self, args, kwargs)
            make(self, *new_args, **new_kwargs)
            watcher._made(self, args, kwargs, changed)

        @functools.wraps(go)
        def __iter__(self: Any) -> Any:
            if watcher._stays(self):
                watcher._as_made.put_back(self)
                if (stays := known.get(self)) is not None:
                    stays.imposed.clear()
            if inner.has(self):
                return go(self)
            seen, listener = known.met(self, sys._getframe(1)), watcher.listener
            if listener is not None and seen is not None:
                listener.begins(seen)
            looked_s = watcher._workers.before_pass(self)
            before, watcher._beginning = watcher._beginning, self
            try:
                iterator = go(self)
            finally:
                watcher._beginning = before
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
                passes[self] = Pass(seen, weakref.ref(loader))
                vars(self)[HELD] = watcher._holdable(loader)
                seen.n_iterators += 1

        @functools.wraps(again)
        def reset(self: Any, loader: Any, first_iter: bool = False) -> None:
            # Called for each pass of a loader that keeps its workers, and by each new iterator
            # with workers for its first one.
            if not first_iter:
                watcher._met(loader, sys._getframe(1))
            again(self, loader, first_iter)
            if not first_iter and (one := passes.get(self)) is not None:
                vars(self)[HELD] = watcher._holdable(loader)
                one.seen.n_iterators += 1
                if watcher._workers.keeps(loader):
                    draw_as_new(loader)  # the script's own loader makes a new iterator here

        @functools.wraps(following)
        def __next__(self: Any) -> Any:
            # Runs at each batch: hardly a line too many.
            one, listener = passes.get(self), watcher.listener
            seen, loader = (None, None) if one is None else (one.seen, one.loader())
            loader = vars(self).get(HELD) if loader is None else loader
            if inner.has(loader):
                return following(self)
            if listener is not None and seen is not None:
                if (held := listener.asks(seen, self)) is not None:
                    return held
            before, inner.outer = inner.outer, self if loader is None else loader
            try:
                batch = following(self)
            except StopIteration:
                inner.outer = before
                if wanted and loader is not None:
                    watcher._workers.batch(loader, ended=True)
                if listener is not None and seen is not None:
                    listener.ends(seen)
                vars(self).pop(HELD, None)
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

    def stepped(self) -> None:
        """An optimizer stepped."""
        self._followed.stepped()

    def _is_open(self, seen: LoaderSeen) -> bool:
        return any(HELD in vars(one) for one, its in self._passes.items() if its.seen is seen)

    def _met(self, loader: Any, frame: FrameType) -> LoaderSeen | None:
        """A pass begins, of a class perhaps that does not come here by its `__iter__`."""
        if inner.has(loader):
            return self._known.get(loader)
        seen = self._known.met(loader, frame)
        if seen is not None and self.listener is not None and self._beginning is not loader:
            self.listener.begins(seen)
        return seen

    def _stays(self, loader: Any) -> bool:
        """Whether a loader stays as the script has it."""
        if inner.has(loader):
            return True
        if not multiprocessing.current_process().daemon:
            return False
        for name in self._wanted:
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

    def _arguments(
        self, loader: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]:
        """The constructor's arguments with what is imposed, and what of them is new."""
        if not self._wanted or self._stays(loader):
            return args, kwargs, {}
        try:
            bound = self._signature.bind(loader, *args, **kwargs)
            own = {k: v for k, v in bound.arguments.items() if k != "self"}
            settings = _own_settings(own)
        except (TypeError, SettingsError):  # wrong arguments: torch's own error is the right one
            return args, kwargs, {}
        told: list[Note] = []
        wanted = self._imposed.over(settings, self._reached(own, told))
        new = arguments(wanted, own, told)
        changed = {name: value for name, value in new.items() if not self._same(name, value, own)}
        dropped = {name for name in own.keys() - new.keys() if not self._same(name, None, own)}
        for note in told:
            if note["setting"] in self._imposed:
                tell(self._notes, note["setting"], note["reason"])
        if not changed and not dropped:
            return args, kwargs, {}
        kept = {name: value for name, value in own.items() if name not in dropped}
        return (), {**kept, **changed}, {**changed, **dict.fromkeys(dropped)}

    def _same(self, name: str, value: Any, own: dict[str, Any]) -> bool:
        """Whether an argument is what the script gave, or torch's default where it gave none."""
        before = own.get(name, self._default(name))
        if name in DEFAULTS and before is None:
            before = DEFAULTS[name]
        return before is value or (name not in THEIRS and bool(before == value))

    def _reached(self, own: dict[str, Any], notes: list[Note]) -> list[str]:
        """The imposed settings that may be put in force on a loader with these arguments."""
        names = list(self._wanted)
        if isinstance(own.get("dataset"), IterableDataset):
            if "num_workers" in names and "num_workers" not in self._imposed.override:
                names.remove("num_workers")
                tell(notes, "num_workers", STREAM)
        if "in_order" in names and not _shuffles(own):
            # In an evaluation the order may matter, and it is what the script asked for.
            names.remove("in_order")
        return names

    def _made(
        self, loader: Any, args: tuple[Any, ...], kwargs: dict[str, Any], changed: dict[str, Any]
    ) -> None:
        own = self._signature.bind(loader, *args, **kwargs).arguments
        seen = self._known.made(loader, own, changed, sys._getframe(2))
        if changed:
            self._workers.made(loader, own, seen)
            names = {*changed, *DEFAULTS}
            self._as_made.keep(loader, {n: own.get(n, self._default(n)) for n in names})

    def _default(self, name: str) -> Any:
        return self._signature.parameters[name].default


def _own_settings(own: dict[str, Any]) -> Settings:
    """A script's own loader arguments as settings; a start method stays an argument."""
    return Settings.from_dict(given_settings(own))


def _shuffles(own: dict[str, Any]) -> bool:
    if own.get("shuffle") or own.get("batch_sampler") is not None:
        return True
    sampler = own.get("sampler")
    return sampler is not None and not isinstance(sampler, SequentialSampler)
