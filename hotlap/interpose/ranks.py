"""Ranks: processes that train together, where hotlap may stand in one of them alone.

A library that starts the other ranks by itself (Lightning with `devices=2`) starts them as plain
Python. One replica of several would train in another precision, or drift by another kernel, without
a word; so nothing of that kind is put in force there. Who starts all ranks alike, by the command
that it was given, says before they begin how many there are.
"""

from __future__ import annotations

import os

from torch import distributed

from hotlap.interpose.reach import apart
from hotlap.interpose.seen import Seen

LAUNCHERS = {
    "WORLD_SIZE": "torchrun, accelerate, deepspeed",
    "SLURM_STEP_NUM_TASKS": "srun",
    "OMPI_COMM_WORLD_SIZE": "Open MPI",
    "PMI_SIZE": "MPICH, Intel MPI",
    "JSM_NAMESPACE_SIZE": "jsrun",
}
"""Variables that count the ranks -> who sets them for each rank that it starts."""


class Ranks:
    """Knows whether other ranks train along, in which nothing is put in force.

    Args:
        seen: Its n_ranks is set.
        alone: Whether the processes that the script starts have no hotlap in them.
    """

    def __init__(self, seen: Seen, alone: bool) -> None:
        self._seen = seen
        self._alone = alone and not any(_many(os.environ.get(name, "")) for name in LAUNCHERS)

    def why_not(self) -> str:
        """Why nothing that all ranks have to share may be put in force, or ""."""
        if not self._alone or not distributed.is_available() or not distributed.is_initialized():
            return ""
        self._seen.n_ranks = distributed.get_world_size()
        return apart(self._seen)


def _many(count: str) -> bool:
    return count.isdigit() and int(count) > 1
