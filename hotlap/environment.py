"""The part of the settings that is read when a process starts: OpenMP's waiting, the allocator.

No torch here: the process that reads these variables does not exist yet.

Sources: the OpenMP specification (OMP_WAIT_POLICY), libgomp's manual (GOMP_SPINCOUNT), PyTorch's
CUDA semantics notes (PYTORCH_CUDA_ALLOC_CONF), PyTorch's performance tuning guide (LD_PRELOAD of
jemalloc or tcmalloc), mallopt(3) and PyTorch's c10/core/impl/alloc_cpu.cpp (`GLIBC_KEEP`).
"""

from __future__ import annotations

import glob
from collections.abc import Mapping

from hotlap.errors import InvalidTrial
from hotlap.settings import Settings

SPINS = {"active": "1000000000", "passive": "0"}
"""libgomp's spin count for each wait policy; it reads the policy, and the count to be sure."""

GLIBC_KEEP = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**40),
    "THP_MEM_ALLOC_ENABLE": "1",
}
"""What makes glibc's malloc keep what is freed, and torch ask for huge pages.

By itself glibc gives large pieces back to the kernel as soon as they are free (above 32 MiB each
one, and the end of the heap above 64 MiB), so each step gets its activations as new pages, zeroed
one by one at their first touch. The third lets torch (2.2 and later) lay tensors of 2 MiB or more
on huge pages; where the kernel gives none to anybody, or to everybody, it changes nothing. Kept
memory is not there for others: a process stays as large as it once was.
"""

LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
)
LIBRARY_PATTERNS = {
    "jemalloc": ("libjemalloc.so*",),
    "tcmalloc": ("libtcmalloc.so*", "libtcmalloc_minimal.so*"),
}

ALLOC_CONF = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
"""Two names of one variable: torch 2.9 renamed it, and older releases know the second one only."""

VARIABLES = {
    "omp_wait_policy": ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"),
    "allocator": ("LD_PRELOAD", *GLIBC_KEEP),
    "cuda_alloc_conf": ALLOC_CONF,
}
"""Setting -> variables without which it is not in force; torch sets thread counts itself, too."""


def process_environment(settings: Settings, base: Mapping[str, str]) -> dict[str, str]:
    """The environment a training process must start with, over `base`.

    Raises:
        InvalidTrial: The allocator's library is not on this machine.
    """
    env = dict(base)
    env.update(variables(settings, base))
    return env


def variables(settings: Settings, base: Mapping[str, str]) -> dict[str, str]:
    """Only the variables that `settings` put there; what the user set stays where they are silent.

    Raises:
        InvalidTrial: The allocator's library is not on this machine.
    """
    new = {}
    if settings.omp_wait_policy != "default":
        new["OMP_WAIT_POLICY"] = settings.omp_wait_policy.upper()
        new["GOMP_SPINCOUNT"] = SPINS[settings.omp_wait_policy]
    if settings.intraop_threads is not None:
        # Not for torch, which sets its count itself, but for numpy: its BLAS takes the count from
        # here when it is loaded, and a fork server has loaded it before it forks a trial. Told
        # later, in the trial, OpenBLAS keeps as many threads as there are cores: a data set that
        # computes with numpy would not run as in the full run. So this is a server's own, too.
        new["OMP_NUM_THREADS"] = str(settings.intraop_threads)
    if settings.allocator == "glibc_keep":
        new |= GLIBC_KEEP
    elif settings.allocator != "default":
        path = allocator_library(settings.allocator)
        if path is None:
            raise InvalidTrial(
                f"allocator={settings.allocator} needs its shared library, and none was found in "
                f"{', '.join(LIBRARY_FOLDERS)}; install it or take allocator=default"
            )
        old = base.get("LD_PRELOAD", "")
        new["LD_PRELOAD"] = f"{path}:{old}" if old else path
    if settings.cuda_alloc_conf:
        new |= dict.fromkeys(ALLOC_CONF, settings.cuda_alloc_conf)
    return new


def missing(wanted: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Those of the variables that `variables` wants without which a setting is not in force.

    Of the two names in `ALLOC_CONF` one is enough, unless the other one says something else: torch
    may be the one that reads that.
    """
    lacking = {n: value for n, value in wanted.items() if not is_set(n, value, environment)}
    if any(name in wanted and name not in lacking for name in ALLOC_CONF):
        return {n: v for n, v in lacking.items() if n not in ALLOC_CONF or n in environment}
    return lacking


def is_set(name: str, value: str, environment: Mapping[str, str]) -> bool:
    """Whether `environment` has what `variables` wants there."""
    present = environment.get(name, "")
    if name == "LD_PRELOAD":  # the library stands in front of what was there
        return value.split(":")[0] in present.replace(" ", ":").split(":")
    if name == "OMP_WAIT_POLICY":  # OpenMP reads it in any case
        return present.upper() == value.upper()
    return present == value


def allocator_library(name: str) -> str | None:
    """Path of the allocator's shared library, or None where it is not installed."""
    for pattern in LIBRARY_PATTERNS[name]:
        for folder in LIBRARY_FOLDERS:
            if found := sorted(glob.glob(f"{folder}/{pattern}"), key=len):
                return found[0]
    return None
