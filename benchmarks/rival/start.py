"""Start a block, and what it needs before it starts. No torch here, and nothing of hotlap's.

Settings are plain dicts by the names that PyTorch gives them; what a dict does not name is
PyTorch's default.
"""

from __future__ import annotations

import contextlib
import ctypes.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT

DEFAULT: dict[str, Any] = {
    "num_workers": 0,
    "prefetch_factor": 2,
    "persistent_workers": False,
    "pin_memory": False,
    "non_blocking": False,
    "multiprocessing_context": "default",
    "in_order": True,
    "memory_format": "contiguous",
    "amp": "none",
    "float32_matmul_precision": "highest",
    "cudnn_allow_tf32": True,
    "cudnn_benchmark": False,
    "cudnn_benchmark_limit": 10,
    "cudnn_deterministic": False,
    "compile_mode": "none",
    "intraop_threads": None,
    "interop_threads": None,
    "worker_threads": 1,
    "omp_wait_policy": "default",
    "allocator": "default",
    "optimizer_kernel": "default",
    "set_to_none": True,
    "sdpa_backend": "default",
    "cuda_alloc_conf": "",
    "micro_batch_size": None,
}
"""What the judge can put in force: PyTorch's own defaults."""

OF_WORKERS = (
    "prefetch_factor",
    "persistent_workers",
    "multiprocessing_context",
    "in_order",
    "worker_threads",
)
SET_BY_NOBODY = (
    *("OMP_", "GOMP_", "KMP_", "MKL_", "PYTORCH_", "PYTHONPATH"),
    *("LD_PRELOAD", "MALLOC_", "GLIBC_", "THP_MEM_"),
)
"""Variables that begin so are taken away from everybody: the default is what PyTorch does alone."""

BLOCK_S = 600.0
"""Longest block, compilation included; a worker that hangs ends here."""

GRACE_S = 30.0
"""After the first signal; tune.py ends its trials in it."""


class BlockFailed(Exception):
    """A block ended without a rate; the text is the last line of its error."""


def complete(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`settings` over the defaults.

    Raises:
        ValueError: A name that the judge cannot put in force.
    """
    if unknown := sorted(settings.keys() - DEFAULT.keys()):
        raise ValueError(f"the judge has no setting {', '.join(unknown)}")
    return {**DEFAULT, **settings}


def changed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What differs from the defaults and means something; equal for settings that do the same."""
    whole = complete(settings)
    silent = () if whole["num_workers"] else OF_WORKERS
    return {
        name: whole[name] for name in DEFAULT if whole[name] != DEFAULT[name] and name not in silent
    }


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would set threads, waiting or allocators behind our backs."""
    return {n: v for n, v in environment.items() if not n.startswith(SET_BY_NOBODY)}


def variables(settings: Mapping[str, Any]) -> dict[str, str]:
    """The variables that a process with these settings has to find when it starts."""
    whole, found = complete(settings), {}
    if whole["omp_wait_policy"] != "default":
        found["OMP_WAIT_POLICY"] = whole["omp_wait_policy"].upper()
        # libgomp's own word for how long a thread spins, to be sure of both policies.
        found["GOMP_SPINCOUNT"] = "0" if whole["omp_wait_policy"] == "passive" else "1000000000"
    if whole["allocator"] == "glibc_keep":
        # Nothing that is freed goes back to the kernel; large tensors on huge pages.
        found |= {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "1099511627776"}
        found["THP_MEM_ALLOC_ENABLE"] = "1"
    elif whole["allocator"] != "default":
        library = ctypes.util.find_library(whole["allocator"])
        if library is None:
            raise BlockFailed(f"lib{whole['allocator']} is not on this machine")
        found["LD_PRELOAD"] = library
    if whole["cuda_alloc_conf"]:
        found["PYTORCH_ALLOC_CONF"] = found["PYTORCH_CUDA_ALLOC_CONF"] = whole["cuda_alloc_conf"]
    return found


def measure(
    loop: str, settings: Mapping[str, Any], seconds: float, python: str = sys.executable
) -> float:
    """Samples per second of one block in a fresh process.

    Raises:
        BlockFailed: It gave no rate.
    """
    words = [python, "-m", "benchmarks.rival.block", loop, json.dumps(dict(settings)), str(seconds)]
    environment = {**clean(os.environ), **variables(settings)}
    try:
        done = run(words, ROOT, environment, BLOCK_S)
    except subprocess.TimeoutExpired as late:
        raise BlockFailed(f"no rate after {BLOCK_S:.0f} s") from late
    if done.returncode:
        raise BlockFailed((done.stderr.strip().splitlines() or ["no word of why"])[-1][:200])
    return float(json.loads(done.stdout.strip().splitlines()[-1])["samples_per_s"])


def run(
    words: list[str], cwd: Path, environment: Mapping[str, str], limit_s: float
) -> subprocess.CompletedProcess[str]:
    """A command with its output, in a process group that does not outlive this call.

    Raises:
        subprocess.TimeoutExpired: It was not done after `limit_s`.
    """
    with subprocess.Popen(
        words,
        cwd=cwd,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, error = process.communicate(timeout=limit_s)
        except BaseException:  # too late, or Ctrl-C: it may end its children itself
            _signal_group(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=GRACE_S)
            raise
        finally:  # whatever it has left behind
            _signal_group(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(words, process.returncode, out, error)


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # nobody is left in it
        os.killpg(group, number)
