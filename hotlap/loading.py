"""Data loading: a DataLoader with the settings in force, whatever arguments came before."""

from __future__ import annotations

import ctypes
import functools
import inspect
import multiprocessing
import operator
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from hotlap.notes import Note, tell
from hotlap.settings import Settings
from hotlap.unseen import unseen

ONLY_WITH_WORKERS = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout")
"""DataLoader arguments that torch refuses, or that mean nothing, without worker processes."""

COUNTS = ("num_workers", "prefetch_factor")
SWITCHES = ("pin_memory", "persistent_workers", "in_order")
"""DataLoader arguments that are settings."""


def loader(
    dataset: Dataset[Any], settings: Settings, *, notes: list[Note] | None = None, **own: Any
) -> DataLoader[Any]:
    """A DataLoader over `dataset` with `settings` in force.

    Args:
        dataset: As DataLoader's.
        settings: They win over `own`, and what clashes with them is changed together.
        notes: Gets a note for each setting that could not be put in force; None logs them.
        **own: All other DataLoader arguments: batch_size, shuffle, collate_fn, ...
    """
    return DataLoader(dataset, **arguments(settings, own, notes))


def arguments(
    settings: Settings, own: dict[str, Any], notes: list[Note] | None = None
) -> dict[str, Any]:
    """DataLoader's arguments: `own` with `settings` over them, without any that clash."""
    args = {**own, "num_workers": settings.num_workers, "pin_memory": settings.pin_memory}
    if settings.pin_memory and not torch.cuda.is_available():
        tell(notes, "pin_memory", "there is no CUDA device here, so torch pins nothing")
    if settings.num_workers == 0:
        # One process: torch refuses these (pytorch#68576) or ignores them.
        return {name: value for name, value in args.items() if name not in ONLY_WITH_WORKERS}
    args["prefetch_factor"] = settings.prefetch_factor
    args["persistent_workers"] = settings.persistent_workers
    _choose_start_method(settings.multiprocessing_context, args, notes)
    _choose_order(settings.in_order, args, notes)
    _choose_threads(settings.worker_threads, args, notes)
    return args


def draw_as_new(loader: DataLoader[Any]) -> None:
    """Draw what a new iterator of a loader with workers draws before its pass begins.

    It asks for the order twice, and for its workers' seeds in between. An iterator that is kept
    from the epoch before, with its workers, asks for the order once: one that is decided as it is
    asked for, and all random numbers after it, would be others.
    """
    iter(loader.sampler if loader.batch_sampler is None else loader.batch_sampler)
    draw_seed(loader)


def draw_seed(loader: DataLoader[Any]) -> None:
    """Draw the number that a new iterator of the loader draws for its workers' seeds."""
    torch.empty((), dtype=torch.int64).random_(generator=loader.generator)


def given_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """DataLoader arguments that somebody gave, as settings: whole numbers of any kind, any truth.

    A start method stays an argument; None stands for what is not given.

    Raises:
        TypeError: A count is no whole number.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    counts = {name: operator.index(given[name]) for name in COUNTS if name in given}
    return counts | {name: bool(given[name]) for name in SWITCHES if name in given}


def start_method(context: Any) -> str:
    """How a loader with this `multiprocessing_context` starts its workers."""
    if context is None:
        # Asking without allow_none would fix the default for good, and a script's own
        # set_start_method would fail afterwards. The first of all methods is the default.
        context = multiprocessing.get_start_method(allow_none=True)
        context = context or multiprocessing.get_all_start_methods()[0]
    return str(context if isinstance(context, str) else context.get_start_method())


class WorkerInit:
    """Sets a loader worker's thread count, then calls the user's own function.

    A class and no closure, so that the start method "spawn" can pickle it.

    Args:
        n_threads: torch's intra-op threads in the worker (torch itself takes one).
        then: The user's own worker_init_fn, or None.
    """

    def __init__(self, n_threads: int, then: Callable[[int], None] | None) -> None:
        self.n_threads = n_threads
        self.then = then

    @unseen
    def __call__(self, worker_id: int) -> None:
        """Called by torch in each new worker."""
        torch.set_num_threads(self.n_threads)
        if self.then is not None:
            self.then(worker_id)


class Resident:
    """Stands for a loader where one batch lies on the device for good: gives it without end.

    Args:
        batch: The batch, already on the device.
    """

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield self.batch


def _choose_start_method(method: str, args: dict[str, Any], notes: list[Note] | None) -> None:
    if method == "default":
        return
    known = multiprocessing.get_all_start_methods()
    if method in known:
        args["multiprocessing_context"] = method
    else:
        reason = f"this platform has no start method {method}, only {', '.join(known)}"
        tell(notes, "multiprocessing_context", reason)


def _choose_order(in_order: bool, args: dict[str, Any], notes: list[Note] | None) -> None:
    if "in_order" in inspect.signature(DataLoader.__init__).parameters:
        args["in_order"] = in_order
    elif not in_order:
        tell(notes, "in_order", f"torch {torch.__version__} has no such argument; 2.6 has")


def _choose_threads(n_threads: int, args: dict[str, Any], notes: list[Note] | None) -> None:
    if n_threads == 1:  # what torch does by itself
        return
    if start_method(args.get("multiprocessing_context")) == "fork" and not _openmp_survives_fork():
        tell(
            notes,
            "worker_threads",
            "a forked worker could hang in its first parallel region with this OpenMP library; "
            "take multiprocessing_context=spawn or forkserver",
        )
        return
    args["worker_init_fn"] = WorkerInit(n_threads, args.get("worker_init_fn"))


@functools.cache
def _openmp_survives_fork() -> bool:
    """Make libgomp drop its idle threads before each fork; False if that cannot be done.

    A child forked after a parallel region has libgomp's record of threads that exist in the
    parent only, and waits for them for ever in its own first parallel region. OpenMP 5.0's
    `omp_pause_resource_all` ends them; they come back with the parent's next parallel region.
    """
    try:
        pause = ctypes.CDLL(None).omp_pause_resource_all
    except (AttributeError, OSError, TypeError):
        return False
    soft = 1  # omp_pause_soft: thread-private data is kept
    os.register_at_fork(before=lambda: pause(soft))
    return True
