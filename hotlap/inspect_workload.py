"""Facts about a workload, its torch and its device: what a job of kind "probe" answers.

The search space asks these facts which knobs make sense. The process is thrown away afterwards, so
training a few steps here spoils nothing.
"""

from __future__ import annotations

import itertools
import resource
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, IterableDataset

from hotlap import toolchain
from hotlap.apply import Applied, apply
from hotlap.batches import has_image_rank, tensors, to_device
from hotlap.errors import NoBatch
from hotlap.inspect_data import data_facts
from hotlap.kernels import accepted, set_kernel
from hotlap.loading import Resident
from hotlap.order import draw, indices
from hotlap.picklable import refused_by_pickle
from hotlap.settings import Settings
from hotlap.structure import batch_shapes, dataset_kind, model_digest
from hotlap.workload import Workload

SAMPLE_S = 1.0
"""Fetching samples one by one ends after so many seconds."""

MAX_SAMPLES = 64

BATCHES_S = 2.0
"""Drawing batches to compare their shapes ends after so many seconds."""

MAX_BATCHES = 4

SDPA_BACKENDS = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


def facts(workload: Workload, applied: Applied | None = None) -> dict[str, Any]:
    """All facts, as data that JSON can hold.

    Args:
        workload: What is to be tuned.
        applied: It with settings in force; None puts PyTorch's defaults in force.

    Raises:
        NoBatch: The loader gives no batch.
        InvalidTrial: The samples of a batch cannot be counted.

    Returns:
        The versions and the device of `hotlap.toolchain`; of the workload:

        - `optimizer`, `optimizer_kernels`: its class and the kernels it takes here
        - `conv2d`, `batch_norm`, `attention`: what the model has and calls; `model_called` is
          False if the loss never calls the outermost module itself
        - `sdpa_backends`: attention kernels that run here, in float32 or under the device's own
          autocast dtype; `sdpa_backends_float32` those that need no autocast
        - `n_parameters`, `batch_size`, `n_epoch_steps`, `batch_bytes`, `shapes_vary`
        - `model_digest`, `dataset_kind`, `batch_shapes`: see `hotlap.structure`
        - `loader`, `resident`, `iterable_dataset`, `spawn_error`: how data come;
          `sample_cpu_s` and `sample_wall_s`: means of one sample fetched in this process;
          with a loader also those of `hotlap.inspect_data`
    """
    found = {
        **toolchain.versions(),
        **toolchain.device_facts(torch.device(workload.device)),
        "default_intraop_threads": torch.get_num_threads(),
        "default_interop_threads": torch.get_num_interop_threads(),
        "compiler": toolchain.has_compiler(torch.device(workload.device)),
    }
    applied = applied or apply(workload, Settings())
    batches = _batches(applied)
    workload.count(batches[0])  # each step asks for it
    found.update(_data(workload, applied, batches))
    found.update(_training(workload, applied, batches[0], bf16=bool(found["bf16"])))
    return found


def spawn_error(workload: Workload) -> str:
    """Why the start methods spawn and forkserver cannot be used, or "": what pickle refuses."""
    return refused_by_pickle(
        dataset=workload.dataset,
        collate_fn=workload.collate_fn,
        worker_init_fn=workload.worker_init_fn,
    )


def sample_times(loader: DataLoader[Any]) -> tuple[float, float]:
    """Mean CPU and wall seconds to fetch one sample in this process; 0.0 each without samples.

    CPU far below wall time: samples wait (disk, network), and workers cost no core. A sample that
    gave up its core of itself has waited; one that a neighbour pushed off it has not. Samples that
    can be drawn in the loader's own pass alone tell nothing.
    """
    try:
        return _sample_times(_samples(loader))
    except Exception:  # the script or the workload trains all the same: it is no fault of theirs
        return 0.0, 0.0


def _sample_times(samples: Iterator[Any]) -> tuple[float, float]:
    if not any(True for _ in itertools.islice(samples, 1)):  # which opens files and fills caches
        return 0.0, 0.0
    start, cpu_s, wait_s, n = time.perf_counter(), 0.0, 0.0, 0
    while n < MAX_SAMPLES and time.perf_counter() - start < SAMPLE_S:
        wall, cpu, gave_up = time.perf_counter(), time.process_time(), _times_given_up()
        if not any(True for _ in itertools.islice(samples, 1)):
            break
        n += 1
        used_s = time.process_time() - cpu
        cpu_s += used_s
        if _times_given_up() > gave_up:
            wait_s += max(0.0, time.perf_counter() - wall - used_s)
    return (cpu_s / n, (cpu_s + wait_s) / n) if n else (0.0, 0.0)


def _times_given_up() -> int:
    """How often this process gave up its core of itself: voluntary context switches."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def _data(workload: Workload, applied: Applied, batches: list[Any]) -> dict[str, Any]:
    loader: Any = applied.loader
    resident = isinstance(loader, Resident)
    cpu_s, wall_s = (0.0, 0.0) if resident else sample_times(loader)
    return {
        "batch_size": workload.batch_size,
        "n_epoch_steps": applied.n_epoch_steps,
        "resident": resident,
        "loader": not resident,
        "iterable_dataset": isinstance(workload.dataset, IterableDataset),
        "spawn_error": "" if resident else spawn_error(workload),
        **({} if resident else data_facts(workload, loader)),
        "sample_cpu_s": cpu_s,
        "sample_wall_s": wall_s,
        "batch_bytes": sum(t.numel() * t.element_size() for t in tensors(batches[0])),
        "batch_shapes": batch_shapes([list(tensors(b)) for b in batches]),
        "dataset_kind": dataset_kind(workload.dataset),
        "shapes_vary": len({tuple(t.shape for t in tensors(b)) for b in batches}) > 1,
    }


def _training(workload: Workload, applied: Applied, batch: Any, bf16: bool) -> dict[str, Any]:
    called = []
    hook = applied.model.register_forward_pre_hook(lambda module, args: called.append(True))
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        applied.step(batch)
    hook.remove()
    # The profiler sees the call wherever it comes from: user code, nn.MultiheadAttention, C++.
    names = {event.name for event in profiled.events() or ()}
    kernels = [name for name in accepted(applied.optimizer) if _updates(applied, name)]
    # Only now: afterwards there are no gradients left to update with.
    attention = "aten::scaled_dot_product_attention" in names
    full = [name for name in SDPA_BACKENDS if attention and _runs(workload, applied, batch, name)]
    half = [
        name
        for name in SDPA_BACKENDS
        if attention and bf16 and name not in full and _runs(workload, applied, batch, name, True)
    ]
    modules = list(applied.model.modules())
    return {
        "optimizer": type(applied.optimizer).__name__,
        "optimizer_kernels": kernels,
        "model_digest": model_digest(applied.model),  # after the step: lazy modules have shapes now
        "n_parameters": sum(p.numel() for p in applied.model.parameters()),
        "conv2d": any(has_image_rank(p) for p in applied.model.parameters()),
        "batch_norm": any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in modules),
        "model_called": bool(called),
        "attention": attention,
        "sdpa_backends": [name for name in SDPA_BACKENDS if name in full or name in half],
        "sdpa_backends_float32": full,
    }


def _updates(applied: Applied, kernel: str) -> bool:
    """Whether an update with this kernel takes the real gradients: sparse ones, as the case may be.

    Those of the last step are used once more.
    """
    set_kernel(applied.optimizer, Settings(optimizer_kernel=kernel), notes=[])
    try:
        applied.optimizer.step()
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


def _runs(workload: Workload, applied: Applied, batch: Any, name: str, bf16: bool = False) -> bool:
    """Whether a forward and a backward pass run with this attention kernel only."""
    here = to_device(batch, applied.device, Settings())
    autocast = torch.autocast(applied.device.type, dtype=torch.bfloat16, enabled=bf16)
    try:
        with sdpa_kernel(SDPA_BACKENDS[name]), autocast:
            workload.loss(applied.model, here).backward()  # type: ignore[no-untyped-call]
    except RuntimeError:  # torch's way to say that no kernel is left
        return False
    finally:
        applied.optimizer.zero_grad()
    return True


def _batches(applied: Applied) -> list[Any]:
    if isinstance(applied.loader, Resident):
        return [applied.loader.batch]
    start = time.perf_counter()
    batches = []
    for batch in itertools.islice(applied.loader, MAX_BATCHES):
        batches.append(batch)
        if time.perf_counter() - start > BATCHES_S:
            break
    if not batches:
        raise NoBatch
    return batches


def _samples(loader: DataLoader[Any]) -> Iterator[Any]:
    if isinstance(loader.dataset, IterableDataset):
        return iter(loader.dataset)
    return (draw(loader, [index]) for index in indices(loader))
