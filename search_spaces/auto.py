"""What `auto` means for each knob: a short list of values from the facts.

Lists are short and grow by doubling, so that a sampler learns each value's worth in few trials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from hotlap.errors import UserInputError
from search_spaces.knob import Value

MAX_WORKERS = 32
"""Beyond that, start-up and memory of the processes cost more than loading gains."""

MAX_WORKERS_PER_CORE = 8
"""A data set that waits may have many workers a core, yet each is a process to schedule."""

LEAST_TOP = 2
"""Two workers are tried even on one core: one may read while the other computes."""

SHM_SHARE = 0.8
"""Share of the free /dev/shm that batches in flight may take: others write there too."""

LEAST_PREFETCH = 2
"""PyTorch's own prefetch factor, with which a number of workers must fit into /dev/shm."""


def auto_values(name: str, facts: Mapping[str, Any]) -> tuple[Value, ...]:
    """The values of the knob `name` on this machine, smallest first.

    Args:
        name: The knob.
        facts: Machine facts and workload facts in one mapping.

    Raises:
        UserInputError: There is no rule for this knob.
    """
    if name not in _RULES:
        raise UserInputError(
            f"search_space.{name} is auto, and only {', '.join(_RULES)} can be; "
            f"write the values themselves, such as search_space.{name}.choices=[...]"
        )
    return _RULES[name](facts)


def workers_rule(facts: Mapping[str, Any]) -> int:
    """The number of loader workers that keeps all cores busy.

    cores * (1 + wait / compute), for samples that wait longer (disk, network) than they compute;
    a data set that only computes gains nothing beyond the cores.
    Source: Goetz, Java Concurrency in Practice (2006), section 8.2.
    """
    cores = int(facts.get("cores", 1))
    compute_s = float(facts.get("sample_cpu_s") or 0.0)
    wait_s = float(facts.get("sample_wall_s") or 0.0) - compute_s
    # Below half of the time, "waiting" may be a neighbour who took the core for a moment.
    ratio = wait_s / max(compute_s, 1e-6) if wait_s > compute_s else 0.0
    most = min(MAX_WORKERS, MAX_WORKERS_PER_CORE * cores)
    return min(most, math.ceil(cores * (1 + ratio)))


def shm_need_bytes(num_workers: int, prefetch_factor: int, facts: Mapping[str, Any]) -> int:
    """Bytes of /dev/shm that the batches in flight take (pytorch#5040)."""
    return num_workers * prefetch_factor * int(facts.get("batch_bytes") or 0)


def fits_shm(num_workers: int, prefetch_factor: int, facts: Mapping[str, Any]) -> bool:
    """Whether the batches in flight leave others some room in /dev/shm."""
    free = facts.get("shm_free_bytes")
    return free is None or shm_need_bytes(num_workers, prefetch_factor, facts) <= SHM_SHARE * free


def _num_workers(facts: Mapping[str, Any]) -> tuple[Value, ...]:
    counts = (0, *_doubling(max(LEAST_TOP, workers_rule(facts))))
    return tuple(n for n in counts if fits_shm(n, LEAST_PREFETCH, facts))


def _prefetch_factor(facts: Mapping[str, Any]) -> tuple[Value, ...]:
    fitting = tuple(n for n in (2, 4, 8) if fits_shm(1, n, facts))
    return fitting or (1,)


def _intraop_threads(facts: Mapping[str, Any]) -> tuple[Value, ...]:
    """PyTorch's own count (null), and powers of two up to the cores."""
    own = facts.get("default_intraop_threads")
    return (None, *(n for n in _doubling(int(facts.get("cores", 1))) if n != own))


def _interop_threads(facts: Mapping[str, Any]) -> tuple[Value, ...]:
    """PyTorch's own count, one and two: few models have more branches that run at once."""
    own = facts.get("default_interop_threads")
    return (None, *(n for n in (1, 2) if n != own and n <= int(facts.get("cores", 1))))


def _worker_threads(facts: Mapping[str, Any]) -> tuple[Value, ...]:
    """One thread a loader worker, or two where the cores suffice for several such workers."""
    return (1, 2) if int(facts.get("cores", 1)) >= 4 else (1,)


def _micro_batch_size(facts: Mapping[str, Any]) -> tuple[Value, ...]:
    """The whole batch (null), a half and a quarter of it, in samples."""
    batch = int(facts.get("batch_size") or 0)
    parts = [math.ceil(batch / n) for n in (2, 4) if batch >= 2 * n]
    return (None, *parts)


def _doubling(top: int) -> tuple[int, ...]:
    """1, 2, 4, ... up to `top`, which is the last one."""
    powers = [1 << n for n in range(top.bit_length()) if 1 << n < top]
    return (*powers, top)


_RULES: dict[str, Callable[[Mapping[str, Any]], tuple[Value, ...]]] = {
    "num_workers": _num_workers,
    "prefetch_factor": _prefetch_factor,
    "intraop_threads": _intraop_threads,
    "interop_threads": _interop_threads,
    "worker_threads": _worker_threads,
    "micro_batch_size": _micro_batch_size,
}
