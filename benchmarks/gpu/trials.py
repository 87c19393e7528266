"""What holds for trials on a GPU, whatever their settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.gpu.check import Check, Verdict, failed, passed, skipped
from benchmarks.gpu.knobs import report_of
from benchmarks.machine import ROOT
from hotlap.job import Job, Window
from runners.process import ProcessRunner

SAME_MEMORY = 64 * 2**20
"""Free memory may differ by so many bytes between two trials: the driver's own caches."""

WATCHED = ("gpu_utilization_share", "gpu_power_w", "gpu_sm_clock_mhz")

WALL_SHARE = 0.03
N_WALL_STEPS = 200

Run = Callable[[float], Verdict]


def checks(runner: ProcessRunner, folder: Path, device: str) -> list[Check]:
    """All of them that this device can try."""
    found = [Check("tuner without torch", 30, lambda s: without_torch(runner, folder, device, s))]
    if device.startswith("cuda"):
        found += [
            Check("tuner without CUDA", 30, lambda s: no_context(runner, folder, device, s)),
            Check("out of memory", 60, lambda s: out_of_memory(runner, folder, device, s)),
            Check("GPU watch", 40, lambda s: gpu_watch(runner, folder, device, s)),
        ]
    found.append(Check("window is wall time", 45, lambda s: wall_time(device, s)))
    return found


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
    gpu = run.measurement.gpu
    text = ", ".join(f"{name} {value:,.2f}" for name, value in sorted(gpu.items()))
    missing = [name for name in WATCHED if not gpu.get(name)]
    if missing:
        return failed(f"{', '.join(missing)} missing or zero; there is {text or 'nothing'}")
    return passed(text)


def wall_time(device: str, timeout_s: float) -> Verdict:
    """The rate that a window reports is that of a plain loop's steps by the clock on the wall."""
    name = "gpt2_short" if device.startswith("cuda") else "gpt_small"
    words = ["--process", name, "--device", device, "--seconds", "4"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.harness_overhead", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    if done.returncode:
        return failed(done.stderr.strip().splitlines()[-1])
    answer = json.loads(done.stdout.splitlines()[-1])
    reported, plain = answer["reported_samples_per_s"], answer["plain_samples_per_s"]
    text = (
        f"window {reported:.1f} samples/s, {answer['n_plain_steps']} plain steps {plain:.1f}: "
        f"{reported / plain - 1:+.2%}"
    )
    if answer["n_plain_steps"] < N_WALL_STEPS:
        return skipped(f"{text}; the machine is too slow for {N_WALL_STEPS} steps")
    return passed(text) if abs(reported / plain - 1) <= WALL_SHARE else failed(text)


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
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
        return {p.pid for h in handles for p in nvml.nvmlDeviceGetComputeRunningProcesses(h)}
    finally:
        nvml.nvmlShutdown()
