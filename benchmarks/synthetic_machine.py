"""A machine with a workload that exists in numbers only, in several shapes.

A loader with w workers delivers up to w times what one does, a model takes so many samples at the
most, and workers take cores from it. Layout, threads, precision and a compiled model change what
the model takes; compiling costs time before the first step. `SHAPES` has what differs:

- mixed: samples wait, then the model binds; half precision is hopeless;
- data: the loader binds, with all the workers that there are;
- compute: the model binds, and half precision and compilation pay;
- overhead: a tiny model, to which each worker's batch costs more to hand over than to make.
"""

from __future__ import annotations

from dataclasses import dataclass

from hotlap.settings import Settings


@dataclass(frozen=True)
class Machine:
    """A machine with a workload, in numbers. Rates in samples per second, the rest factors.

    Attributes:
        loads: What the loader delivers without workers.
        worker: What one worker delivers.
        takes: What the model takes if it never waits.
        per_worker: What the model loses for each worker.
        channels_last: Of that layout.
        one_thread: Of one thread, beside few workers and beside 4 or more.
        bf16: Of half precision.
        compiled: Of a compiled model.
        compile_s: Seconds before a compiled model's first step.
    """

    loads: float = 60.0
    worker: float = 110.0
    takes: float = 400.0
    per_worker: float = 12.0
    channels_last: float = 1.15
    one_thread: tuple[float, float] = (0.9, 1.08)
    bf16: float = 0.07
    compiled: float = 1.1
    compile_s: float = 10.0


SHAPES = {
    "mixed": Machine(),
    "data": Machine(40.0, 45.0, 900.0, 10.0, 1.05, (0.95, 1.1), 1.1, 1.1),
    "compute": Machine(600.0, 300.0, 60.0, 1.0, 1.3, (0.6, 0.6), 1.5, 1.25, 25.0),
    "overhead": Machine(6000.0, 300.0, 4000.0, 50.0, 0.97, (1.3, 1.2), 0.8, 1.4, 15.0),
}


def true_rate(settings: Settings, machine: Machine = SHAPES["mixed"]) -> float:
    """Samples per second by construction."""
    workers = settings.num_workers
    many = 1.05 if workers > 1 else 1.0
    loader = machine.loads if workers == 0 else machine.worker * workers * many
    compute = compute_rate(settings, machine)
    if workers == 0:
        return 1 / (1 / loader + 1 / compute)
    return (loader**-6 + compute**-6) ** (-1 / 6)  # the slower side, with a soft corner


def compute_rate(settings: Settings, machine: Machine = SHAPES["mixed"]) -> float:
    """Samples per second that the model would take if it never waited."""
    workers = settings.num_workers
    compute = machine.takes - machine.per_worker * workers
    compute *= machine.channels_last if settings.memory_format == "channels_last" else 1.0
    compute *= machine.one_thread[workers >= 4] if settings.intraop_threads == 1 else 1.0
    compute *= machine.bf16 if settings.amp == "bf16" else 1.0
    return compute * (machine.compiled if settings.compile_mode == "default" else 1.0)
