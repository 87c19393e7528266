"""Facts about the machine, read in the tuner process, and the words that knobs may require.

No torch and no CUDA context here: what only torch can tell comes from a job of kind "probe".
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Any

from hotlap.cgroup import memory_limit
from hotlap.environment import LIBRARY_PATTERNS, allocator_library
from hotlap.machine import cpu_facts, cpu_flags
from search_spaces.nvml import nvidia_facts
from search_spaces.torch_build import torch_folder

MEANING = {
    "cuda": "the workload runs on a CUDA device",
    "cpu": "the workload runs on the CPU",
    "bf16": "the device computes in bfloat16 in hardware",
    "fp16": "the device computes in float16 in hardware",
    "tf32": "the device has TF32 (NVIDIA Ampere and later)",
    "cudnn": "cuDNN runs the convolutions: a CUDA device and a model with conv2d",
    "fused_optimizer": "the optimizer has a fused kernel on this device",
    "foreach_optimizer": "the optimizer has a foreach kernel",
    "conv2d": "the model has two-dimensional convolutions",
    "no_batch_norm": "no layer of the model looks at the whole batch, as BatchNorm does",
    "attention": "the model calls scaled_dot_product_attention",
    "sdpa_flash": "the flash attention kernel works for this model and device",
    "sdpa_efficient": "the memory-efficient attention kernel works for this model and device",
    "sdpa_cudnn": "the cuDNN attention kernel works for this model and device",
    "sdpa_math": "the plain attention kernel works for this model and device",
    "loader": "a DataLoader reads the samples (they do not lie on the device already)",
    "map_dataset": "the dataset is map-style, so that workers can share it out",
    "shared_dataset": "workers share the samples out: the dataset is map-style, or a stream "
    "(IterableDataset) that was seen to share them",
    "steady_dataset": "the dataset stays the same from epoch to epoch; persistent workers keep the "
    "copy with which they started",
    "any_order": "batches come in random order, so that they may come in any other",
    "picklable_dataset": "the dataset and its functions can be pickled for another process",
    "compiler": "torch.compile works here (a C++ compiler, or Triton on CUDA)",
    "compile_time": "the budget leaves time to compile: 8 minutes or more; on a CPU 2 for a small "
    "model, 20 for a large one",
    "spare_time": "the budget leaves time for what is dear and seldom pays: 30 minutes or more",
    "glibc": "the C library is glibc",
    "jemalloc": "the jemalloc library is installed",
    "tcmalloc": "the tcmalloc library is installed",
    "libgomp": "torch uses GNU OpenMP, which knows a spin count",
    "several_cores": "this process may use more than one core",
}
"""The closed list of words: each with what it says when it is there."""

WORDS: tuple[str, ...] = tuple(MEANING)

HANGS_ON = {"tf32": "cuda", "cudnn": "cuda", "sdpa_cudnn": "cuda"}
"""Where the second word is missing, the first one is for that reason: one reason, one sentence."""

COMPILE_BUDGET_S = 480.0
"""Compiling takes up to a minute or so; less than this leaves no time for other trials."""

SMALL, SMALL_ON_CPU_S = 50_000, 120.0
"""A model of fewer parameters compiles in seconds, as the perceptron below does. One of many narrow
layers takes longer: what is known not to fit into what is left of the search is not begun, and no
first compilation takes more than two thirds of that (studies/pace.py). On a CPU it comes last. A
GPU is left idle by a model as small as that, so CUDA graphs come first there (studies/descent.py):
they would take most of a search of one minute."""

LARGE, LARGE_ON_CPU_S = 20_000_000, 1200.0
"""A model of so many parameters takes longer on a CPU: resnet50, with 26 million, took 104 s on two
cores, and a perceptron of 5,000 took 2 s. Its first trial fits into a shorter study, for it may
take two thirds of what the search has left (studies/pace.py). But the half of the budget that comes
after the search has to compile once more before anything is proven (studies/numerics.py): with its
other steps, 7 % of the budget, and five rounds of two trials of 20 to 40 s that is some 1,000 s."""

SPARE_BUDGET_S = 1800.0
"""How workers start changes nothing once they run. On two cores a trial whose workers were spawned
took 20 s instead of 6, in its proof as well."""

CPU_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile",
             "amx_bf16", "asimd", "asimdhp", "bf16", "sve")  # fmt: skip
"""The instruction sets that decide how fast a CPU trains, on x86 and on ARM."""


def machine_facts() -> dict[str, Any]:
    """Facts of this machine as plain data; they go into a frozen file's provenance.

    There is no host name in them: frozen files are handed on to others.
    """
    flags = cpu_flags()
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        **cpu_facts(),
        "cpu_flags": [flag for flag in CPU_FLAGS if flag in flags],
        "memory_bytes": min(installed, memory_limit() or installed),
        "shm_free_bytes": _shm_free_bytes(),
        **nvidia_facts(),
        "allocators": [name for name in LIBRARY_PATTERNS if allocator_library(name)],
        "libgomp": _torch_has_libgomp(),
        "libc": " ".join(platform.libc_ver()).strip(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def words(machine: Mapping[str, Any], workload: Mapping[str, Any]) -> set[str]:
    """The words of `WORDS` that hold here.

    Args:
        machine: What `machine_facts` returns.
        workload: What the probe answers (see hotlap/inspect_workload.py). A fact that is missing
            gives no word: what is not known to work is not tried.
    """
    cuda = str(workload.get("device", "")).startswith("cuda")
    kernels = workload.get("optimizer_kernels") or ()
    loader = bool(workload.get("loader")) and not workload.get("resident")
    holds = {
        "cuda": cuda,
        "cpu": str(workload.get("device", "")).startswith("cpu"),
        **{word: bool(workload.get(word)) for word in ("bf16", "fp16", "conv2d", "attention")},
        "no_batch_norm": workload.get("batch_norm") is False,
        "tf32": cuda and bool(workload.get("tf32")),
        "cudnn": cuda and bool(workload.get("conv2d")),
        "fused_optimizer": "fused" in kernels,
        "foreach_optimizer": "foreach" in kernels,
        "loader": loader,
        "map_dataset": loader and not workload.get("iterable_dataset"),
        "shared_dataset": loader
        and (not workload.get("iterable_dataset") or workload.get("stream_sharing") == "shared"),
        "steady_dataset": loader and not workload.get("dataset_changes"),
        "any_order": loader and not workload.get("fixed_order"),
        "picklable_dataset": loader and not workload.get("spawn_error"),
        "compiler": bool(workload.get("compiler")),
        "compile_time": machine.get("budget_s", 0.0) >= _compile_budget_s(cuda, workload),
        "spare_time": machine.get("budget_s", 0.0) >= SPARE_BUDGET_S,
        **{name: name in machine.get("allocators", ()) for name in LIBRARY_PATTERNS},
        "libgomp": bool(machine.get("libgomp")),
        "glibc": str(machine.get("libc", "")).startswith("glibc"),
        "several_cores": machine.get("cores", 1) > 1,
    }
    backends = workload.get("sdpa_backends") or ()
    holds.update({word: word[5:] in backends for word in WORDS if word.startswith("sdpa_")})
    return {word for word, true in holds.items() if true}


def _compile_budget_s(cuda: bool, workload: Mapping[str, Any]) -> float:
    """The least budget of a study that may compile this model; of an unknown one the usual."""
    n_parameters = int(workload.get("n_parameters") or SMALL)
    if cuda or SMALL <= n_parameters < LARGE:
        return COMPILE_BUDGET_S
    return SMALL_ON_CPU_S if n_parameters < SMALL else LARGE_ON_CPU_S


def _shm_free_bytes() -> int | None:
    """Free bytes of /dev/shm, through which loader workers hand batches over; None without it."""
    if not os.path.isdir("/dev/shm"):
        return None
    status = os.statvfs("/dev/shm")
    return status.f_bavail * status.f_frsize


def _torch_has_libgomp() -> bool:
    """Whether torch's wheel brings GNU OpenMP; looks at its files, does not import it."""
    package = torch_folder()
    if package is None:
        return False
    folders = (package / "lib", package.parent / "torch.libs")
    return any(next(folder.glob("libgomp*"), None) for folder in folders)
