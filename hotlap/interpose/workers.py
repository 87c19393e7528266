"""Imposed loader workers: looked at before each pass, and given up where they would change things.

Workers copy the dataset when they start, and for them the order is asked some batches ahead. That
is no fault where nothing changes in either; so before the first pass, between passes and with the
first batches of each it is looked whether something does. What is given up goes back to the
script's own way, and the reason is told.
"""

from __future__ import annotations

import multiprocessing.process
import os
import time
import weakref
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from torch.utils.data import DataLoader

from hotlap.interpose.drawing import changed_by_drawing
from hotlap.interpose.guard import IMPORTS_ANEW, unguarded_main
from hotlap.interpose.holders import is_held
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.samplers import sampler_state
from hotlap.interpose.seen import LoaderSeen
from hotlap.interpose.state import State, changed, has_epochs, state
from hotlap.loading import start_method
from hotlap.notes import Note, tell
from hotlap.picklable import refused_by_pickle

N_LOOKS = 8
"""After so many batches of a pass the dataset is not looked at again before the pass ends, and the
sampler not before the next one."""

NO_WORKERS = {
    "num_workers": 0,
    "persistent_workers": False,
    "prefetch_factor": None,
    "multiprocessing_context": None,
    "worker_init_fn": None,
}
"""torch's defaults of a loader's attributes about workers."""


@dataclass
class _Place:
    """Loaders made at one place: what was given up on them, and which one keeps its workers."""

    seen: LoaderSeen
    reasons: dict[str, str] = field(default_factory=dict)
    looked: bool = False
    keeping: weakref.ref[DataLoader[Any]] | None = None


@dataclass
class _Watched:
    """A loader on which workers are imposed; `open` while its last pass has not ended.

    The sampler's own iteration changes it as well, and comes at other times with workers. So its
    state is taken when a batch has come, and compared when the next one is asked for.
    """

    own: dict[str, Any]
    place: _Place
    before: State = field(default_factory=dict)
    sampler: State = field(default_factory=dict)
    n_batches: int = 0
    open: bool = False


class Workers:
    """Watches the loaders that have workers, or kept workers, only because hotlap imposes them."""

    def __init__(self, imposed: Imposed, notes: list[Note]) -> None:
        self._imposed = imposed
        self._notes = notes
        self._watched: WeakKeyDictionary[DataLoader[Any], _Watched] = WeakKeyDictionary()
        self._places: dict[int, _Place] = {}
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_Forget(self))

    def made(self, loader: DataLoader[Any], own: dict[str, Any], seen: LoaderSeen) -> None:
        """A loader was made with imposed arguments; `own` are the script's."""
        if loader.num_workers:
            place = self._places.setdefault(id(seen), _Place(seen))
            values = {name: own.get(name, plain) for name, plain in NO_WORKERS.items()}
            self._watched[loader] = _Watched(values, place)

    def known_as(self, loader: DataLoader[Any], seen: LoaderSeen) -> None:
        """Of two that are made alike and are open at once each keeps its workers."""
        watched = self._watched.get(loader)
        if watched is None or watched.place.seen is seen:
            return
        like = _Place(seen, dict(watched.place.reasons))
        watched.place = self._places.setdefault(id(seen), like)
        if self.keeps(loader):
            self._keep_one(loader, watched.place)

    def keeps(self, loader: DataLoader[Any]) -> bool:
        """Whether the loader keeps its workers because hotlap wants it."""
        watched = self._watched.get(loader)
        return (
            watched is not None
            and loader.persistent_workers
            and not watched.own["persistent_workers"]
        )

    def has_own(self, loader: DataLoader[Any]) -> bool:
        """Whether one that is watched would have workers by the script alone, too."""
        return bool(self._watched[loader].own["num_workers"])

    def before_pass(self, loader: DataLoader[Any]) -> float:
        """Give up what must not be in force in the pass that begins now.

        Returns:
            The seconds of the look that is done once: no later pass begins with it.
        """
        if (watched := self._watched.get(loader)) is None:
            return 0.0
        looked_s = 0.0
        if not watched.place.looked:
            watched.place.looked = True
            began = time.perf_counter()
            self._look(loader, watched)
            looked_s = time.perf_counter() - began
        # What kept workers alone would not see takes time to look at.
        now = _state(loader, data_only=not self.keeps(loader))
        has_workers = "num_workers" not in watched.place.reasons
        if has_workers and watched.before and (where := changed(watched.before, now)):
            self._keep_none(watched, f"{where} changed between two passes of the loader")
        if watched.open and self.keeps(loader) and is_held(loader):
            self._refuse(
                watched,
                "persistent_workers",
                "two passes over the loader are open at once, which would share one iterator",
            )
        watched.before, watched.n_batches, watched.open = now, 0, True
        watched.sampler = {}
        self._give_up(loader, watched)
        if self.keeps(loader):
            self._keep_one(loader, watched.place)
        return looked_s

    def begun(self, loader: DataLoader[Any]) -> None:
        """The pass's iterator is made: its workers have started, and know their first indices."""
        if (watched := self._watched.get(loader)) is not None and _came(loader, watched):
            watched.sampler = self._sampler(loader)

    def asks(self, loader: DataLoader[Any]) -> None:
        """A batch is asked for: has the script changed the order since the last one came?"""
        if (watched := self._watched.get(loader)) is None or not watched.sampler:
            return
        before, watched.sampler = watched.sampler, {}
        if where := changed(before, self._sampler(loader)):
            self._stale(
                watched,
                f"{where} changed while the loader's batches were used, and for workers the order "
                "is asked some batches ahead",
            )

    def batch(self, loader: DataLoader[Any], ended: bool = False) -> None:
        """A batch came, or the pass ended: has the script changed the dataset meanwhile?"""
        if (watched := self._watched.get(loader)) is None:
            return
        watched.open = watched.open and not ended
        if not _came(loader, watched):
            return
        watched.n_batches += 1
        if ended or watched.n_batches <= N_LOOKS:
            if where := changed(watched.before, _state(loader, data_only=True), data_only=True):
                self._stale(
                    watched,
                    f"{where} changed while the loader's batches were used, and workers have a "
                    "copy from the pass's beginning",
                )
        if not ended and watched.n_batches <= N_LOOKS:
            watched.sampler = self._sampler(loader)

    def _sampler(self, loader: DataLoader[Any]) -> State:
        overruled = "num_workers" in self._imposed.override
        return {} if overruled else sampler_state(loader)

    def _stale(self, watched: _Watched, reason: str) -> None:
        """What the workers had in this pass was not what the script has."""
        watched.place.seen.stale = reason
        self._refuse(watched, "num_workers", f"{reason}; from the next pass on there are none")

    def _look(self, loader: DataLoader[Any], watched: _Watched) -> None:
        if watched.own["num_workers"] == 0 and "num_workers" not in self._imposed.override:
            if where := changed_by_drawing(loader):
                self._refuse(
                    watched,
                    "num_workers",
                    f"{where} changes when a sample is drawn, and workers would change only "
                    "copies of it",
                )
                return
        if where := has_epochs(loader.dataset):
            self._keep_none(watched, f"{where} has a method set_epoch")
        own = watched.own["multiprocessing_context"]
        used = start_method(loader.multiprocessing_context)
        if used not in IMPORTS_ANEW or not (reason := _not_anew(loader)):
            return
        if start_method(own) != used:
            self._refuse(watched, "multiprocessing_context", reason)
        if start_method(own) in IMPORTS_ANEW and watched.own["num_workers"] == 0:
            self._refuse(watched, "num_workers", f"the script's start method is {used}; {reason}")

    def _keep_none(self, watched: _Watched, reason: str) -> None:
        if not watched.own["persistent_workers"]:
            reason += ", and workers that are kept would not see it"
            self._refuse(watched, "persistent_workers", reason)

    def _refuse(self, watched: _Watched, name: str, reason: str) -> None:
        if name not in watched.place.reasons:
            watched.place.reasons[name] = reason
            if name in self._imposed:
                tell(self._notes, name, f"{reason} (loader at {watched.place.seen.where})")

    def _give_up(self, loader: DataLoader[Any], watched: _Watched) -> None:
        """Put the script's own values back; not by setattr, which torch forbids for some."""
        reasons = watched.place.reasons
        given_up = set(NO_WORKERS) if "num_workers" in reasons else set(reasons)
        for name in given_up:
            watched.place.seen.imposed.pop(name, None)
            if name == "multiprocessing_context":
                loader.multiprocessing_context = watched.own[name]
            else:
                loader.__dict__[name] = watched.own[name]
        if "persistent_workers" in given_up:
            loader.__dict__["_iterator"] = None  # its workers end when nobody uses it any more

    def _keep_one(self, loader: DataLoader[Any], place: _Place) -> None:
        """A loader made anew, each epoch perhaps, takes the place of the one before."""
        before = place.keeping() if place.keeping is not None else None
        if before is not None and before is not loader:
            before.__dict__["_iterator"] = None
        place.keeping = weakref.ref(loader)

    def forget(self) -> None:
        """In a forked process: the kept workers are its parent's, and not this one's to end."""
        for loader in list(self._watched):
            iterator: Any = loader.__dict__.get("_iterator")
            if iterator is not None:
                iterator._shutdown = True
                children: set[Any] = vars(multiprocessing.process)["_children"]
                children.difference_update(iterator._workers)


class _Forget:
    """Handlers at fork stay for ever; this one keeps nothing alive."""

    def __init__(self, workers: Workers) -> None:
        self._workers = weakref.ref(workers)

    def __call__(self) -> None:
        if (workers := self._workers()) is not None:
            workers.forget()


def _came(loader: DataLoader[Any], watched: _Watched) -> bool:
    """Whether it has workers, and the script alone would have none."""
    return not watched.own["num_workers"] and loader.num_workers > 0


def _state(loader: DataLoader[Any], data_only: bool) -> State:
    return state(data_only, dataset=loader.dataset, collate_fn=loader.collate_fn)


def _not_anew(loader: DataLoader[Any]) -> str:
    """Why a worker must not begin with a fresh interpreter, or ""."""
    return unguarded_main() or refused_by_pickle(
        dataset=loader.dataset,
        collate_fn=loader.collate_fn,
        worker_init_fn=loader.worker_init_fn,
    )
