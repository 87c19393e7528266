"""WarmUp: what the blocks before the window tell, and when they are steady."""

from __future__ import annotations

import itertools
import math
import statistics

from hotlap.measurement import JITTER, Block

SETTLED = 0.95
"""Warm-up goes on while a block is faster than this share of those before it: what warms up
(algorithm choice, allocator, caches) makes steps faster."""

RECENT = 4
"""By so many blocks, the last one among them, is told whether they still become faster."""

COMPILING = 5.0
"""A step that computes for so many times longer than the fastest one was compiling or choosing
algorithms; it does not count as warm-up."""

MIN_COMPILING_S = 1e-3
"""Nothing compiles in less: where a step computes next to nothing, chance alone makes it slower."""

MAX_COMPILING = 8
"""After so many slow blocks it is no longer compilation: the machine itself has become slower."""

IN_THE_MAKING = 2
"""A full queue may lack so many batches: the one that a step has just taken, and one on its way."""

GROWTH = 4
"""A block has at most so many times the steps of the one before it, so that a first step served
from a full queue cannot lead to a block of minutes."""


class WarmUp:
    """The blocks of a warm-up, judged as they come.

    Args:
        block_s: About how long a block is to be.
        unit: Blocks are whole multiples of so many steps, but for the first two, for the third
            where steps take long by themselves, and for one with which training ends.
        n_prefetched: Batches that may have been fetched before the first step ended.

    Attributes:
        blocks: All of them.
        worked_s: Their seconds, but for those in which a compiler worked.
        step_s: A step of the last block, waiting included.
        n_next: Steps that the next block should have.
    """

    def __init__(self, block_s: float, unit: int, n_prefetched: int) -> None:
        self._block_s = block_s
        self._unit = unit
        self._n_prefetched = n_prefetched
        self._fastest_s = math.inf  # computing, of one step
        self._n_slow = 0
        self.blocks: list[Block] = []
        self.worked_s = 0.0
        self.step_s = math.inf
        self.n_next = 1  # the first step alone: it compiles, chooses algorithms, loads kernels

    def add(self, block: Block) -> None:
        """Take one more block into account."""
        self.blocks.append(block)
        self._fastest_s = min(self._fastest_s, block.computing_s)
        self.step_s = max(_per_step(block), 1e-9)
        if len(self.blocks) < 2:
            return  # the second step alone as well
        if self._compiling(block):
            self._n_slow += 1
        if self._n_slow > MAX_COMPILING:
            self._fastest_s, self._n_slow = block.computing_s, 0
        if not self._compiling(block) and len(self.blocks) > 2:
            self.worked_s += block.seconds
        units = math.ceil(self._block_s / (self.step_s * self._unit) - 1e-9)
        most = GROWTH * math.ceil(block.steps / self._unit)
        self.n_next = self._unit * max(1, min(units, most))
        if len(self.blocks) == 2 and self._long_by_itself(block):
            # With many workers a block of hopeless settings would take minutes, and two single
            # steps tell as much of them (studies/search.py).
            self.n_next = 1

    def is_steady(self, n_ready: int | None, n_left: float = math.inf) -> bool:
        """Whether the last block is as fast as it gets, and the loader's queue rests.

        Args:
            n_ready: Batches that the loader has ready, None if that cannot be told.
            n_left: Batches that the epoch still has; a full queue holds no more.
        """
        if len(self.blocks) < 3:
            return False
        last = self.blocks[-1]
        n_steps = sum(block.steps for block in self.blocks)
        used_up = n_steps >= self._n_prefetched + self._unit
        full = last.seconds >= self._block_s / 2
        steady = used_up and full and not self._falls() and not self._compiling(last)
        return steady and self._rests(n_ready, n_left)

    @property
    def compile_s(self) -> float:
        """How much longer the slow blocks took than as many of the fastest steps."""
        slow = [block for block in self.blocks if self._compiling(block)]
        return sum((block.computing_s - self._fastest_s) * block.steps for block in slow)

    def _falls(self) -> bool:
        """Whether blocks become faster, and by more than they go up and down.

        What warms up only falls: where a block was slower than the one before it by as much, it was
        by chance. Compared is with the median, since the slowest of some blocks is slow by chance.
        """
        recent = [_per_step(block) for block in self.blocks[1:][-RECENT:]]
        last, before = recent[-1], statistics.median(recent[:-1])
        rise = max(later - earlier for earlier, later in itertools.pairwise(recent))
        return last < SETTLED * before and before - last > rise

    def _rests(self, n_ready: int | None, n_left: float) -> bool:
        # Full or empty; on its way in between the rate seen cannot last.
        if n_ready is None:
            return True
        before = self.blocks[-2].n_ready
        if before is not None and before - n_ready > JITTER:
            return False  # it was full from a slow first step, and runs low
        last = self.blocks[-1]
        empty = n_ready <= self._unit and last.waits
        return empty or n_ready >= min(self._n_prefetched, n_left) - self._unit

    def _long_by_itself(self, block: Block) -> bool:
        """Whether a step computes for longer than a block should take, while the loader rests.

        Workers that still fill the queue take the step's cores, and that comes to an end.
        """
        full = block.n_ready is not None and block.n_ready >= self._n_prefetched - IN_THE_MAKING
        return full and block.computing_s > self._block_s

    def _compiling(self, block: Block) -> bool:
        return block.computing_s > max(COMPILING * self._fastest_s, MIN_COMPILING_S)


def _per_step(block: Block) -> float:
    return block.seconds / block.steps
