"""Settings: every runtime setting that hotlap knows, each with PyTorch's own default.

No torch here: the tuner process reads and writes settings too.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hotlap.errors import SettingsError

CHOICES: dict[str, tuple[str, ...]] = {
    "multiprocessing_context": ("default", "fork", "spawn", "forkserver"),
    "memory_format": ("contiguous", "channels_last"),
    "amp": ("none", "bf16", "fp16"),
    "float32_matmul_precision": ("highest", "high", "medium"),
    "compile_mode": ("none", "default", "reduce-overhead", "max-autotune"),
    "omp_wait_policy": ("default", "active", "passive"),
    "allocator": ("default", "glibc_keep", "jemalloc", "tcmalloc"),
    "optimizer_kernel": ("default", "for_loop", "foreach", "fused"),
    "sdpa_backend": ("default", "math", "flash", "efficient", "cudnn"),
}
"""The closed lists. `default` means: whatever PyTorch, the C library or OpenMP does by itself."""

CUDA_GRAPH_MODES = ("reduce-overhead", "max-autotune")
"""Compile modes that replay CUDA graphs, whose outputs the next replay overwrites."""

MINIMUM = {
    "num_workers": 0,
    "prefetch_factor": 1,
    "cudnn_benchmark_limit": 0,
    "intraop_threads": 1,
    "interop_threads": 1,
    "worker_threads": 1,
    "micro_batch_size": 1,
}

OPTIONAL = ("intraop_threads", "interop_threads", "micro_batch_size")
"""Settings that may be null: PyTorch's own count of threads, the whole batch at once."""

NEEDS_WORKERS = (
    "prefetch_factor",
    "persistent_workers",
    "multiprocessing_context",
    "in_order",
    "worker_threads",
)
"""Settings that mean nothing with `num_workers=0`; torch even refuses some of them."""

LOADER_SETTINGS = ("num_workers", "pin_memory", *NEEDS_WORKERS)
"""The settings that speak about the loader (`non_blocking` is about the copy that follows)."""

AGAINST_DETERMINISM = ("cudnn_benchmark", "cudnn_benchmark_limit", "cudnn_deterministic")
"""Settings that give way where a script asks for determinism."""


@dataclass(frozen=True)
class Settings:
    """All runtime settings, sampled or not; the defaults are PyTorch's own.

    Counts are plain numbers; `micro_batch_size` is in samples; null (None) leaves the choice to
    PyTorch. Values are checked on construction.

    Raises:
        SettingsError: a value is not one that the setting can take.
    """

    # data loading
    num_workers: int = 0
    prefetch_factor: int = 2
    persistent_workers: bool = False
    pin_memory: bool = False
    non_blocking: bool = False
    multiprocessing_context: str = "default"
    in_order: bool = True
    # memory layout
    memory_format: str = "contiguous"
    # precision
    amp: str = "none"
    float32_matmul_precision: str = "highest"
    cudnn_allow_tf32: bool = True
    # cuDNN algorithms
    cudnn_benchmark: bool = False
    cudnn_benchmark_limit: int = 10
    cudnn_deterministic: bool = False
    # compilation
    compile_mode: str = "none"
    # threads and process environment
    intraop_threads: int | None = None
    interop_threads: int | None = None
    worker_threads: int = 1
    omp_wait_policy: str = "default"
    allocator: str = "default"
    # optimizer
    optimizer_kernel: str = "default"
    set_to_none: bool = True
    # attention
    sdpa_backend: str = "default"
    # memory
    cuda_alloc_conf: str = ""
    micro_batch_size: int | None = None

    def __post_init__(self) -> None:
        wrong = [text for f in fields(self) if (text := _fault(f.name, getattr(self, f.name)))]
        if wrong:
            raise SettingsError("; ".join(wrong))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """Settings with `values` over the defaults; all mistakes are reported at once.

        Raises:
            SettingsError: an unknown name or a value that the setting cannot take.
        """
        wrong = faults(values)
        if wrong:
            raise SettingsError("; ".join(wrong.values()))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Every setting that means something: with 0 workers, none of those that need workers."""
        values = dict(vars(self))  # all plain; asdict copies each, which takes ten times as long
        if self.num_workers == 0:
            for name in NEEDS_WORKERS:
                del values[name]
        return values

    def changed(self) -> dict[str, Any]:
        """The settings that differ from PyTorch's default and mean something."""
        default = vars(Settings())
        return {name: value for name, value in self.to_dict().items() if value != default[name]}

    def key(self) -> tuple[tuple[str, Any], ...]:
        """A hashable form, equal for two settings that do the same."""
        return tuple(sorted(self.to_dict().items()))


NAMES: tuple[str, ...] = tuple(f.name for f in fields(Settings))
"""Names of all settings, in the order of the frozen file."""


def faults(values: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with `values`: name of the setting -> sentence. Empty if nothing is."""
    found = {}
    for name, value in values.items():
        if name not in NAMES:
            found[name] = f"unknown setting '{name}'{near(str(name), NAMES)}"
        elif text := _fault(name, value):
            found[name] = text
    return found


def near(word: str, words: tuple[str, ...] | list[str]) -> str:
    """`; did you mean 'x'?` for the nearest of `words`, or nothing."""
    close = difflib.get_close_matches(word, words, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _fault(name: str, value: Any) -> str:
    default = getattr(Settings, name)
    if name in CHOICES:
        if value not in CHOICES[name]:
            return f"{name} is {value!r}; it takes one of {', '.join(CHOICES[name])}"
    elif isinstance(default, bool):
        if not isinstance(value, bool):
            return f"{name} is {value!r}; it takes true or false"
    elif isinstance(default, str):
        if not isinstance(value, str):
            return f"{name} is {value!r}; it takes a text"
    else:
        if value is None and name in OPTIONAL:
            return ""
        if isinstance(value, bool) or not isinstance(value, int) or value < MINIMUM[name]:
            also = " or null" if name in OPTIONAL else ""
            return f"{name} is {value!r}; it takes a whole number from {MINIMUM[name]}{also}"
    return ""
