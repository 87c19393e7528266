"""One block: a fresh process that trains a loop with given settings and says its rate.

    python -m benchmarks.rival.block waiting '{"num_workers": 4}' 2

Plain PyTorch and nothing of hotlap's: this is what everybody's settings are judged by. One line of
JSON comes out. The warm-up is whole epochs, of a second at least; what is timed is whole epochs
too, of the asked seconds at least, so each epoch's start is in the rate; very slow settings are cut
off within an epoch. What a process reads when it starts (OpenMP's waiting, the allocator) is in its
environment before: benchmarks/rival/start.py.
"""

import contextlib
import ctypes
import importlib
import json
import multiprocessing
import os
import sys
import time

import torch
from torch.utils.data import DataLoader

from benchmarks.rival.start import changed, complete

WARM_S = 1.0
LEAST = 8
"""Steps of a warm-up at the least, beside those whose batches its first step finds waiting."""
SLOW = 5
"""A warm-up and a timed part take so many times what was asked at the most, or `LEAST` steps."""
AMP = {"bf16": torch.bfloat16, "fp16": torch.float16}
KERNELS = {"for_loop": "foreach", "foreach": "foreach", "fused": "fused"}
SDPA = {
    "math": "MATH",
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
}


class SetThreads:
    """A worker's init function; a class, so that a worker that is spawned can have it."""

    def __init__(self, n_threads):
        self.n_threads = n_threads

    def __call__(self, worker_id):
        """Called by torch in each new worker."""
        torch.set_num_threads(self.n_threads)


def put_flags(settings):
    """Threads and backend flags, before anything computes."""
    if settings["intraop_threads"]:
        torch.set_num_threads(settings["intraop_threads"])
    if settings["interop_threads"]:
        torch.set_num_interop_threads(settings["interop_threads"])
    given = changed(settings)
    if "float32_matmul_precision" in given:
        torch.set_float32_matmul_precision(given["float32_matmul_precision"])
    for name in ("allow_tf32", "benchmark", "benchmark_limit", "deterministic"):
        if f"cudnn_{name}" in given:
            setattr(torch.backends.cudnn, name, given[f"cudnn_{name}"])


def make_loader(loop, settings):
    """The loop's own loader with the settings' arguments."""
    more = {"pin_memory": settings["pin_memory"] and torch.cuda.is_available()}
    if settings["num_workers"]:
        for name in ("num_workers", "prefetch_factor", "persistent_workers"):
            more[name] = settings[name]
        if settings["multiprocessing_context"] != "default":
            more["multiprocessing_context"] = settings["multiprocessing_context"]
        if not settings["in_order"]:
            more["in_order"] = False
        if settings["worker_threads"] > 1:
            more["worker_init_fn"] = SetThreads(settings["worker_threads"])
            forget_threads_before_forks()
    return DataLoader(loop.make_dataset(), batch_size=loop.BATCH_SIZE, shuffle=True, **more)


def forget_threads_before_forks():
    """OpenMP's idle threads do not exist in a forked worker, which would wait for them for ever."""
    paths = {
        line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "libgomp" in line
    }
    libraries = [ctypes.CDLL(path) for path in paths]
    if multiprocessing.get_all_start_methods()[0] == "fork":
        os.register_at_fork(
            before=lambda: [library.omp_pause_resource_all(1) for library in libraries]
        )


def make_optimizer(model, settings):
    """AdamW as in the loops, its kernel as set."""
    kernel = settings["optimizer_kernel"]
    more = {KERNELS[kernel]: kernel != "for_loop"} if kernel in KERNELS else {}
    return torch.optim.AdamW(model.parameters(), lr=1e-3, **more)


def attention(settings):
    """The asked attention kernel, within a `with`."""
    if settings["sdpa_backend"] == "default":
        return contextlib.nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    wanted = getattr(SDPBackend, SDPA[settings["sdpa_backend"]])
    return sdpa_kernel([wanted, SDPBackend.MATH])


def make_step(loop, settings):
    """The loop's step as one function of a batch: the same lines, with the settings in force."""
    device, dtype = torch.device(loop.DEVICE), AMP.get(settings["amp"])
    channels_last = settings["memory_format"] == "channels_last"
    model = loop.make_model().to(device)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = make_optimizer(model, settings)
    if settings["compile_mode"] != "none":
        model = torch.compile(model, mode=settings["compile_mode"])
    scaler = torch.amp.GradScaler(device.type, enabled=settings["amp"] == "fp16")

    def step(inputs, targets):
        inputs = inputs.to(device, non_blocking=settings["non_blocking"])
        targets = targets.to(device, non_blocking=settings["non_blocking"])
        if channels_last and inputs.dim() == 4:
            inputs = inputs.to(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=settings["set_to_none"])
        size = settings["micro_batch_size"] or len(inputs)
        for some, theirs in zip(inputs.split(size), targets.split(size), strict=True):
            with torch.autocast(device.type, dtype=dtype, enabled=dtype is not None):
                loss = loop.loss_of(model(some), theirs) * (len(some) / len(inputs))
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def train(loader, step, seconds, limit_s, least=1):
    """Whole epochs until `seconds` are over: samples and seconds.

    Settings that are so slow that `limit_s` is over first are cut off within an epoch, after
    `least` steps: nobody waits for a figure that is as bad in the tenth part of the time.
    """
    synchronize()
    n_steps, n_samples, begun = 0, 0, time.perf_counter()
    while not n_steps or time.perf_counter() - begun < seconds:
        for inputs, targets in loader:
            step(inputs, targets)
            n_steps, n_samples = n_steps + 1, n_samples + len(inputs)
            if n_steps >= least and time.perf_counter() - begun > limit_s:
                break
        synchronize()
    return n_samples, time.perf_counter() - begun


def synchronize():
    """Wait for the device."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main(name, settings, seconds):
    """Train and time the loop `name`; the dict that is printed."""
    loop = importlib.import_module(f"benchmarks.rival.loops.{name}")
    torch.manual_seed(0)
    put_flags(settings)
    loader, step = make_loader(loop, settings), make_step(loop, settings)
    queue = settings["num_workers"] * settings["prefetch_factor"]
    with attention(settings):
        step(*next(iter(make_loader(loop, complete({})))))  # compiles, with settings that do
        train(loader, step, WARM_S, SLOW * WARM_S, LEAST + queue)
        n_samples, took_s = train(loader, step, seconds, SLOW * seconds)
    return {"samples_per_s": n_samples / took_s, "seconds": took_s}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], complete(json.loads(sys.argv[2])), float(sys.argv[3]))))
