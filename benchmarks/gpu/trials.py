"""What holds for trials on a GPU, whatever their settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.gpu.check import Check, Verdict, failed, passed, skipped
from benchmarks.gpu.knobs import report_of
from benchmarks.harness_overhead import WORKLOADS
from benchmarks.machine import ROOT
from hotlap.job import Job, Window
from runners.process import ProcessRunner
from studies.window_doubts import HELD_BYTES as IDLE_BYTES

SAME_MEMORY = 64 * 2**20
"""Free memory may differ by so many bytes between two trials: the driver's own caches."""

WATCHED = ("gpu_utilization_share", "gpu_power_w", "gpu_sm_clock_mhz")

WALL_SHARE = 0.03
WALL_S = 4.0
"""Seconds of the window and of each plain loop."""

HELD_BYTES = 2**30

Run = Callable[[float], Verdict]


def checks(runner: ProcessRunner, folder: Path, device: str) -> list[Check]:
    """All of them that this device can try."""
    found = [Check("tuner without torch", 30, lambda s: without_torch(runner, folder, device, s))]
    if device.startswith("cuda"):
        found += [
            Check("tuner without CUDA", 30, lambda s: no_context(runner, folder, device, s)),
            Check("out of memory", 60, lambda s: out_of_memory(runner, folder, device, s)),
            Check("GPU watch", 40, lambda s: gpu_watch(runner, folder, device, s)),
            Check("default device", 20, lambda s: default_device(runner, folder, device, s)),
            Check("others on the GPU", 30, lambda s: others_seen(runner, folder, device, s)),
        ]
    found.append(Check("trial is wall time", 60, lambda s: wall_time(runner, folder, device, s)))
    return found


def last(runner: ProcessRunner, folder: Path, device: str) -> list[Check]:
    """Those that are tried only if time is left at the end."""
    if not device.startswith("cuda"):
        return []
    name = "CUDA graphs refuse cudaMallocAsync"
    return [Check(name, 60, lambda s: graphs_and_async(runner, folder, device, s))]


def without_torch(runner: ProcessRunner, folder: Path, device: str, timeout_s: float) -> Verdict:
    """This process has run a trial as the tuner does, and has not imported torch for it."""
    run = runner.run(_small(device), folder / "without_torch", lambda event: False, timeout_s)
    if run.outcome != "ok":
        return failed(f"the trial ended as {run.outcome}: {run.reason}")
    if "torch" in sys.modules:
        return failed("torch is imported in the process that runs the trials")
    return passed(f"a trial ran at {run.measurement.samples_per_s:,.0f} samples/s")


def no_context(runner: ProcessRunner, folder: Path, device: str, timeout_s: float) -> Verdict:
    """While a trial runs, the driver sees the worker's CUDA context and none of the tuner's."""
    seen: set[int] = set()
    worker: set[int] = set()

    def watch(event: dict[str, Any]) -> bool:
        if event["event"] == "started":
            worker.add(event["pid"])
        if event["event"] in ("warmup", "block"):
            seen.update(_compute_pids())
        return False

    runner.run(_small(device), folder / "no_context", watch, timeout_s)
    if os.getpid() in seen:
        return failed(f"the driver lists the tuner's process {os.getpid()} with a CUDA context")
    if not worker & seen:
        return skipped(
            f"NVML does not list the worker either ({len(seen)} processes listed), as in a "
            "container with process ids of its own"
        )
    return passed(f"the driver lists the worker {worker & seen} and not the tuner")


def out_of_memory(runner: ProcessRunner, folder: Path, device: str, timeout_s: float) -> Verdict:
    """A trial that asks for too much is `oom`, and the next one finds the memory free again."""
    before, why = report_of({}, runner, folder / "before", device, timeout_s)
    if before is None:
        return why
    job = Job(
        "benchmarks.gpu.look.memory_eater",
        {"share": 0.9, "device": device},
        import_path=(str(ROOT),),
    )
    run = runner.run(job, folder / "eats", lambda event: False, timeout_s)
    if run.outcome != "oom":
        return failed(f"the trial ended as {run.outcome}, not oom: {run.reason}")
    after, why = report_of({}, runner, folder / "after", device, timeout_s)
    if after is None:
        return why
    lost = before["free_bytes"] - after["free_bytes"]
    text = f"free before {before['free_bytes']:,} bytes, after {after['free_bytes']:,}"
    if abs(lost) > SAME_MEMORY:
        return failed(f"{text}; is somebody else on this GPU?")
    return passed(f"{text}; the trial said: {run.reason}")


def gpu_watch(runner: ProcessRunner, folder: Path, device: str, timeout_s: float) -> Verdict:
    """Utilization, power and clock of the window are in the measurement."""
    job = Job(
        "hotlap.zoo.gpt.gpt_small",
        {"device": device},
        window=Window(max_s=3.0, min_s=2.0, max_warmup_s=3.0),
    )
    run = runner.run(job, folder / "watch", lambda event: False, timeout_s)
    if run.outcome != "ok":
        return failed(f"the trial ended as {run.outcome}: {run.reason}")
    return watched(run.measurement.gpu)


def watched(gpu: Mapping[str, float]) -> Verdict:
    """What the counters in a measurement say.

    The driver has not all of them for a slice of a GPU (MIG), nor for some of a laptop's.
    """
    text = ", ".join(f"{name} {value:,.2f}" for name, value in sorted(gpu.items())) or "nothing"
    zero = [name for name in WATCHED if gpu.get(name) == 0]
    missing = [name for name in WATCHED if name not in gpu]
    if zero or not gpu:
        return failed(f"{', '.join(zero or missing)} missing or zero; there is {text}")
    if missing:
        return skipped(f"the driver does not give {', '.join(missing)} here; there is {text}")
    return passed(text)


def wall_time(runner: ProcessRunner, folder: Path, device: str, timeout_s: float) -> Verdict:
    """A trial's rate is that of a plain loop's steps by the clock on the wall.

    The trial is one like any other, so that its window follows the device as every trial's does.
    The plain loop runs before and after it, each time in a process of its own.
    """
    deadline = time.monotonic() + timeout_s
    name = "gpt2_short" if device.startswith("cuda") else "gpt_small"
    before = _plain_steps_per_s(name, device, deadline)
    dotted, args = WORKLOADS[name]
    window = Window(max_s=WALL_S, min_s=WALL_S, max_warmup_s=WALL_S)
    job = Job(dotted, {**args, "device": device}, window=window)
    left_s = deadline - time.monotonic()
    run = runner.run(job, folder / "wall_time", lambda event: False, left_s)
    if run.outcome != "ok":
        return failed(f"the trial ended as {run.outcome}: {run.reason}")
    after = _plain_steps_per_s(name, device, deadline)
    measured = run.measurement
    trial = measured.samples_per_s / measured.samples_per_step
    plain = 2 / (1 / before + 1 / after)
    text = (
        f"trial {trial:.2f} steps/s, plain loop {before:.2f} before and {after:.2f} after it: "
        f"{trial / plain - 1:+.2%}"
    )
    if abs(after / before - 1) > WALL_SHARE:
        return skipped(f"{text}; the plain loop disagrees with itself, so nothing can be told")
    return passed(text) if abs(trial / plain - 1) <= WALL_SHARE else failed(text)


def default_device(runner: ProcessRunner, folder: Path, device: str, timeout_s: float) -> Verdict:
    """A workload may make its device torch's default one: nothing of hotlap's follows it there."""
    for kind in ("window", "losses"):
        job = replace(
            _small(device),
            workload="benchmarks.gpu.look.defaulting",
            args={"device": device, "shuffle": kind == "losses"},
            kind=kind,
            run={"steps": 4},
        )
        run = runner.run(job, folder / f"default_{kind}", lambda event: False, timeout_s / 2)
        if run.outcome != "ok":
            return failed(f"a job of kind {kind} ended as {run.outcome}: {run.reason}")
    return passed("a window and losses of shuffled batches came to their ends")


def others_seen(runner: ProcessRunner, folder: Path, device: str, timeout_s: float) -> Verdict:
    """A process of somebody else's on the GPU is noted by the next trial, and only while it is."""
    seen = []
    for n_others in (0, 1):
        with _holding(device) if n_others else nullcontext():
            run = runner.run(
                _small(device), folder / f"others_{n_others}", lambda event: False, timeout_s / 3
            )
        if run.outcome != "ok":
            return failed(f"the trial ended as {run.outcome}: {run.reason}")
        gpu = run.measurement.gpu
        seen.append((gpu.get("gpu_other_processes"), gpu.get("gpu_other_bytes")))
    (n_alone, alone), (n_beside, beside) = seen
    text = (
        f"alone {n_alone} processes and {alone} bytes, beside one that holds {HELD_BYTES:,} bytes "
        f"{n_beside} and {beside}"
    )
    if alone is None or beside is None:
        return failed(f"the driver gives no memory in use: {text}")
    if n_alone or alone > IDLE_BYTES:
        return skipped(f"{text}; somebody is on this GPU already")
    return passed(text) if beside - alone > HELD_BYTES else failed(text)


def graphs_and_async(runner: ProcessRunner, folder: Path, device: str, timeout_s: float) -> Verdict:
    """CUDA graphs do fail with cudaMallocAsync; if ever they do not, the search may try both."""
    job = replace(
        _small(device),
        settings={"compile_mode": "reduce-overhead", "cuda_alloc_conf": "backend:cudaMallocAsync"},
    )
    run = runner.run(job, folder / "graphs_and_async", lambda event: False, timeout_s)
    if run.outcome == "ok":
        return failed("they work together here: search_spaces/refusal.py need not refuse them")
    if "cudaMallocAsync" not in f"{run.reason} {run.traceback}":
        return failed(f"the trial ended as {run.outcome} for another reason: {run.reason}")
    return passed(run.reason)


def _plain_steps_per_s(name: str, device: str, deadline: float) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu.plain", name, device, str(WALL_S)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=deadline - time.monotonic(),
        check=True,
        start_new_session=True,  # as a trial: the scheduler may share out the cores by session
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    return float(answer["n_steps"] / answer["seconds"])


@contextmanager
def _holding(device: str) -> Iterator[None]:
    """Another process that holds memory of the device meanwhile."""
    code = (
        f"import sys, torch; held = torch.zeros({HELD_BYTES}, dtype=torch.uint8, "
        f"device={device!r}); torch.cuda.synchronize({device!r}); print('held', flush=True); "
        "sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True) as one:
        assert one.stdout is not None
        if not one.stdout.readline():
            raise RuntimeError("the process that should hold memory ended at once")
        yield


def _small(device: str) -> Job:
    return Job(
        "benchmarks.gpu.look.small",
        {"device": device},
        window=Window(max_s=0.5, min_s=0.2, block_s=0.1, max_warmup_s=1.0),
        import_path=(str(ROOT),),
    )


def _compute_pids() -> set[int]:
    """Processes with a CUDA context on any GPU, as NVML lists them."""
    import pynvml as nvml

    nvml.nvmlInit()
    pids: set[int] = set()
    try:
        for i in range(nvml.nvmlDeviceGetCount()):
            with suppress(nvml.NVMLError):  # a GPU that is not this process's to use
                handle = nvml.nvmlDeviceGetHandleByIndex(i)
                pids |= {p.pid for p in nvml.nvmlDeviceGetComputeRunningProcesses(handle)}
    finally:
        nvml.nvmlShutdown()
    return pids
