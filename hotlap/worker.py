"""What a trial's process does: read the job, put the settings in force, answer with events."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import itertools
import os
import random
import re
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from hotlap import toolchain
from hotlap.batch_size import known_batch_size
from hotlap.device_mark import DeviceMark
from hotlap.device_stalls import DeviceStalls
from hotlap.device_wait import device_wait
from hotlap.drive import drive
from hotlap.errors import Diverged, HotlapError, InvalidTrial, NoRoom, UserInputError, chain
from hotlap.feed import Feed
from hotlap.job import EventLog, Job, printable
from hotlap.loading import Resident
from hotlap.progress import listen
from hotlap.resources import (
    OUT_OF_MEMORY,
    OtherCpu,
    Usage,
    peak_host_bytes,
    shared_memory_hint,
)
from hotlap.settings import Settings
from hotlap.sides import compute_nothing, hold
from hotlap.spoken import count
from hotlap.window import WindowTimer
from hotlap.window_skips import WindowSkips
from hotlap.workload import Workload

if TYPE_CHECKING:
    from hotlap.apply import Applied

SHARED_MEMORY = re.compile(r"Bus error|unable to (allocate|open|resize|mmap).*shared memory", re.I)
HANDED_ON = re.compile(r"(.*?)\S+: Caught \S+ (in .+)\.\nOriginal Traceback")
"""How the message of an error begins that torch hands on from a loader's worker; it ends with that
error itself."""
MAX_LINE = 500
PREPARING_S = 0.5


def main(folder: Path) -> int:
    """Do the job in `folder`; every failure becomes an event, never an exception."""
    job = Job.read(folder)
    if job.script is not None:
        from hotlap.script import worker

        return worker.main(folder)
    started = time.monotonic()
    emit = EventLog(folder)
    emit("started", pid=os.getpid())
    # Asked by the runner when the trial is silent for too long: where does it hang?
    faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
    listen(_Preparing(emit))
    try:
        sys.path[:0] = [path for path in job.import_path if path not in sys.path]
        _seed(job.seed)
        _do(job, emit, started)
    except BaseException as error:
        traceback.print_exc()
        emit("failed", **failure(error, job))
        return 1
    return 0


def _do(job: Job, emit: EventLog, started: float) -> None:
    from hotlap import apply

    settings = Settings.from_dict(job.settings)
    apply.apply_process(settings)  # threads and flags, before the workload's own code runs
    require(job.args.get("device"))
    workload = build(job.workload, job.args)
    if job.kind == "probe":
        from hotlap.inspect_workload import facts

        emit("probing", batch_size=workload.batch_size)
        found = facts(workload)
        uuid = toolchain.device_uuid(torch.device(workload.device))
        emit("facts", facts=found, device_uuid=uuid)
        return
    if job.kind == "losses":
        from hotlap.same_samples import repeatable

        workload = repeatable(workload, job.seed)
    applied = apply.apply(workload, settings)
    settings = applied.settings  # with the workload's own loader arguments
    resident = isinstance(applied.loader, Resident)
    if resident and job.side == "loader":
        raise InvalidTrial("there is no loader to measure: one batch lies on the device for good")
    alone = job.side == "compute"
    emit(
        "built",
        startup_s=time.monotonic() - started,
        device=str(applied.device),
        device_uuid=toolchain.device_uuid(applied.device),
        tokens_per_sample=workload.tokens_per_sample,
        num_workers=0 if alone else settings.num_workers,
        n_epoch_steps=None if alone else applied.n_epoch_steps,
        side=job.side,
        resident=resident,
        notes=applied.notes,
    )
    if job.kind == "full_run":
        from hotlap.full_run import train
        from hotlap.structure import identity

        versions, device = toolchain.versions(), toolchain.device_facts(applied.device)
        emit("environment", facts={**versions, **device, **identity(workload, applied)})
        train(workload, applied, job, emit)
        return
    if job.kind == "losses":
        from hotlap import losses

        losses.train(workload, applied, job, emit)
        return
    _time(job, workload, applied, emit)


def _time(job: Job, workload: Workload, applied: Applied, emit: EventLog) -> None:
    """The window of one trial, of both sides or of one."""
    settings = applied.settings
    n_held = 1
    if job.side == "compute" and not isinstance(applied.loader, Resident):
        applied.loader = held = hold(applied.loader)  # the loader is let go, its workers end
        n_held = len(held.batches)
    n_workers = 0 if job.side == "compute" else settings.num_workers
    cuda = applied.device.type == "cuda"
    waits = cuda and job.side == "both" and not isinstance(applied.loader, Resident)
    stalls = DeviceStalls(applied.device) if waits else None
    feed = Feed(applied.loader, applied.n_epoch_steps, stalls=stalls)
    skips = WindowSkips(emit, applied.asked_and_skipped, "the GradScaler")
    timer = WindowTimer(
        feed,
        job.window,
        num_workers=n_workers,
        persistent=n_workers > 0 and settings.persistent_workers,
        n_prefetched=n_workers * settings.prefetch_factor,
        n_held=n_held,
        emit=skips,
        synchronize=device_wait(applied.device),
        mark=DeviceMark(applied.device) if cuda and job.side != "loader" else None,
        other_cpu_share=OtherCpu(),
        usage=Usage((lambda: torch.cuda.memory_allocated(applied.device)) if cuda else None),
    )
    step = compute_nothing if job.side == "loader" else applied.step.update
    batch_size = known_batch_size(workload, applied.loader)
    drive(timer.run(), step, feed, workload.count, batch_size)
    n_skipped = skips.n_skipped()
    emit(
        "finished",
        peak_device_bytes=torch.cuda.max_memory_reserved(applied.device) if cuda else None,
        peak_host_bytes=peak_host_bytes(),
        n_skipped_steps=n_skipped,
    )


def require(device: Any) -> None:
    """See that there is the device that was asked for; a workload builds on it as best it can.

    Args:
        device: The argument of that name, whatever it is; only CUDA's are looked for.

    Raises:
        UserInputError: It is not here.
    """
    if not isinstance(device, str) or device.partition(":")[0] != "cuda":
        return
    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not n_devices:
        raise UserInputError(
            f"device={device}: this machine has no usable CUDA device; type device=cpu or leave it "
            "out"
        )
    number = device.partition(":")[2]
    if number.isdecimal() and int(number) >= n_devices:
        raise UserInputError(
            f"device={device}: this machine has {count(n_devices, 'usable CUDA device')}, and the "
            f"last one is cuda:{n_devices - 1}; type device=cuda:{n_devices - 1} or leave it out"
        )


def build(dotted: str, args: dict[str, Any]) -> Workload:
    """Call the function at `dotted` with `args`.

    Raises:
        InvalidTrial: There is no such function, or what it returns is no Workload.
    """
    module_name, _, name = dotted.rpartition(".")
    function = getattr(importlib.import_module(module_name), name, None)
    if function is None:
        raise InvalidTrial(f"module {module_name} has no function {name}; check model.workload")
    workload = function(**args)
    if not isinstance(workload, Workload):
        raise InvalidTrial(
            f"{dotted} returned {type(workload).__name__}; it has to return a hotlap.Workload"
        )
    return workload


def failure(error: BaseException, job: Job) -> dict[str, Any]:
    """A failed event's values; see hotlap/job.py."""
    errors = chain(error)
    texts = [f"{type(e).__name__}: {e}".strip() for e in errors]
    no_shared_memory = next(filter(SHARED_MEMORY.search, texts), None)
    no_memory = next(filter(OUT_OF_MEMORY.search, texts), None)
    if isinstance(error, Diverged):
        outcome, line = "diverged", str(error)
    elif isinstance(error, NoRoom):
        outcome, line = "crash", str(error)
    elif isinstance(error, HotlapError):
        outcome, line = "invalid", " ".join(str(error).split())
    elif no_shared_memory:
        outcome, line = "oom", shared_memory_hint(*_workers_of(error, job), no_shared_memory)
    elif no_memory or any(isinstance(e, MemoryError) for e in errors):
        line = _first_line(no_memory or texts[0])
        outcome, line = "oom", f"{line} (peak host memory {peak_host_bytes() // 2**20} MiB)"
    else:
        outcome, line = "crash", _first_line(texts[0])
    told = {
        "outcome": outcome,
        "error": line,
        "traceback": "".join(traceback.format_exception(error)),
    }
    told = {name: printable(text) for name, text in told.items()}
    return {**told, "no_room": isinstance(error, NoRoom)}


def _workers_of(error: BaseException, job: Job) -> tuple[int, int]:
    """Workers, and batches that each prepares: of the loader that raised, else as imposed."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if isinstance(iterator := frame.f_locals.get("self"), _BaseDataLoaderIter):
            return iterator._num_workers, getattr(iterator, "_prefetch_factor", None) or 0
    return job.settings.get("num_workers", 0), job.settings.get("prefetch_factor", 2)


def _first_line(text: str) -> str:
    """With the next one where it only announces that: torch lists so what it could not load.

    Of an error in a loader's worker it is that error's own.
    """
    if handed := HANDED_ON.match(text):
        after = text.rpartition('\n  File "')[2].splitlines()[1:]  # the frame that raised it
        raised = "\n".join(itertools.dropwhile(lambda line: line.startswith(" "), after))
        if raised:
            before, where = handed.groups()
            return f"{before}{_first_line(raised)} ({where})"
    first, *more = text.splitlines()
    return (f"{first} {more[0].strip()}" if more and first.endswith(":") else first)[:MAX_LINE]


class _Preparing:
    """Tells the tuner how far long preparations are, a few times a second at the most."""

    def __init__(self, emit: EventLog) -> None:
        self._emit = emit
        self._told = 0.0

    def __call__(self, what: str, n_done: int, n_wanted: int) -> None:
        if n_done == n_wanted or time.monotonic() - self._told > PREPARING_S:
            self._told = time.monotonic()
            self._emit("preparing", what=what, n_done=n_done, n_wanted=n_wanted)


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    with contextlib.suppress(RuntimeError):  # a broken CUDA is the workload's to report
        torch.manual_seed(seed)
