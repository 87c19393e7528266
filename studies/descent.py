"""Descent: the first proposals of a search, one knob at a time from the best settings so far.

A space of ten thousand settings and time for twenty trials: a sampler that begins with random
points spends them all on points where one bad value hides three good ones. But most knobs help or
harm on their own, and it is known which are likely to pay. So the first trials change one knob of
the incumbent (the baseline or the expert, whichever is faster, then whatever beat it), the likely
ones first, each value once. Then the sampler goes on, with these trials as its history.

This is coordinate descent (Wright, "Coordinate descent algorithms", 2015) with one visit to each
value, the order of the knobs coming from where the baseline waits.
"""

from __future__ import annotations

from hotlap.settings import Settings
from studies.protocols import Space

LOADER = (
    "num_workers",
    "pin_memory",
    "non_blocking",
    "persistent_workers",
    "prefetch_factor",
    "worker_threads",
)
COMPUTE = (
    "amp",
    "float32_matmul_precision",
    "memory_format",
    "cudnn_benchmark",
    "omp_wait_policy",
    "optimizer_kernel",
    "intraop_threads",
    "sdpa_backend",
    "allocator",
    "compile_mode",
)
"""In the order in which they are tried; compilation last, because one trial of it takes minutes.
Knobs that stand in neither list (how workers start, what is deterministic) seldom pay: they are
left to the sampler."""

WAITS = 0.1
"""Above this share of waiting in the baseline the loader's knobs come first."""

NEVER_WAITS = 0.01
"""Below this share they cannot gain more than that, and are left to the sampler."""


class Descent:
    """Proposes one-knob changes of the incumbent.

    Args:
        space: The active search space.
        data_wait_share: The baseline's, 0..1.

    Attributes:
        order: Names of the knobs, the most likely to pay first.
    """

    def __init__(self, space: Space, data_wait_share: float) -> None:
        self._space = space
        self.order: tuple[str, ...] = COMPUTE
        if data_wait_share >= WAITS:
            self.order = LOADER + COMPUTE
        elif data_wait_share >= NEVER_WAITS:
            self.order = COMPUTE + LOADER
        self._tried: set[tuple[str, object]] = set()

    def propose(self, incumbent: Settings) -> Settings | None:
        """The next settings to try beside `incumbent`; None when every value had its turn."""
        near = sorted(
            (item for item in self._space.neighbours(incumbent) if item[0] in self.order),
            key=lambda item: self.order.index(item[0]),
        )
        for name, value, settings in near:
            if (name, value) not in self._tried:
                # The trial compares two values of the knob: neither needs another turn.
                self._tried |= {(name, value), (name, getattr(incumbent, name))}
                return settings
        return None
