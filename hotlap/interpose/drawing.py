"""Samples that are drawn to see what drawing does, in a forked process.

So neither the dataset here, nor any random number, nor what the script prints is another one
afterwards. Where a process cannot be forked, or a sample cannot be drawn so, nothing is found.
"""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import os
import select
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from hotlap.interpose.inner import inner
from hotlap.interpose.state import MOST, attributes, changed, state
from hotlap.order import collate, draw, indices
from hotlap.prctl import PR_SET_PDEATHSIG, prctl

TRY_S = 5.0
"""Samples that take longer tell nothing."""

FILES = (io.FileIO, io.BufferedReader, io.TextIOWrapper)


def changed_by_drawing(loader: Any) -> str:
    """What changes in a loader's dataset or collate_fn when its first samples are drawn, or ""."""
    dataset, collate_fn = loader.dataset, loader.collate_fn

    def look() -> str:
        asked = list(itertools.islice(indices(loader), 2))
        draw(loader, asked[:1])  # which may open files, and find out how much is in them
        before = state(data_only=True, dataset=dataset, collate_fn=collate_fn)
        collate(loader, draw(loader, asked))
        now = state(data_only=True, dataset=dataset, collate_fn=collate_fn)
        return changed(before, now, data_only=True)

    return asked_in_a_fork(look, dataset) if hasattr(dataset, "__dict__") else ""


def asked_in_a_fork(question: Callable[[], str], dataset: Any) -> str:
    """What `question` answers in a forked process; "" if it raises, or takes too long.

    Args:
        question: Draws samples; prints and finalizes nothing here.
        dataset: What it draws from.
    """
    if not hasattr(os, "fork"):
        return ""
    read, write = os.pipe()
    parent = os.getpid()
    with _places_kept(dataset):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads: a worker's, say
            pid = os.fork()
        if pid == 0:
            try:
                _end_with(parent)
                os.write(write, _answer(question).encode())
            except BaseException:
                os._exit(1)  # what is wrong with a sample is the script's to meet
            os._exit(0)
        os.close(write)
        try:
            ready, _, _ = select.select([read], [], [], TRY_S)
            return os.read(read, 65536).decode() if ready else ""
        finally:
            os.close(read)
            # A SIGCHLD handler of the script's own may have been first.
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _end_with(parent: int) -> None:
    """Let this process end when the one that has forked it is ended (Linux)."""
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was ended before that
            os._exit(1)


def _answer(question: Callable[[], str]) -> str:
    gc.disable()  # nothing of the script's may be finalized here
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    torch.set_num_threads(1)  # others did not survive the fork
    with inner.of(question):
        return question()


@contextlib.contextmanager
def _places_kept(dataset: Any) -> Iterator[None]:
    """Let the files that the dataset reads be at the same place afterwards.

    A forked process shares the place with this one, where a reader goes on from what it has
    buffered.
    """
    places = {}
    values = (value for _, value in itertools.islice(attributes(dataset, "dataset"), MOST))
    for value in values:
        with contextlib.suppress(OSError, ValueError):  # a pipe, or a closed one
            for one in _held(value):
                fd = one.fileno()
                places[fd] = os.lseek(fd, 0, os.SEEK_CUR)
    try:
        yield
    finally:
        for fd, place in places.items():
            with contextlib.suppress(OSError):
                os.lseek(fd, place, os.SEEK_SET)


def _held(value: Any) -> list[Any]:
    """The files in a value that are only read."""
    values = list(value.values()) if type(value) is dict else value
    if type(values) not in (list, tuple):
        values = [values]
    return [one for one in values[:MOST] if type(one) in FILES and not one.writable()]
