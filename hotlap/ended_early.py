"""EndedEarly: what a training that ended in its warm-up tells of its speed.

Its first two steps stand for its start, and all that came after them is its window, epoch borders
included. With loader workers the first of these batches may have been ready before: a queue that
filled while the first step was slow is nothing that goes on. No torch here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotlap.block import JITTER, LOADER_BOUND, Block
from hotlap.errors import InvalidTrial

if TYPE_CHECKING:
    from hotlap.epoch_start import EpochStart, Steady

N_FIRST = 2
"""Blocks of one step each with which a warm-up begins."""


@dataclass(frozen=True)
class EndedEarly:
    """The warm-up's later part as a window.

    Attributes:
        first: The first step.
        before: The second one.
        blocks: All after that, one at least; between them there is no step.
        n_epoch_steps: Steps in an epoch, None if unknown.
    """

    first: Block
    before: Block
    blocks: tuple[Block, ...]
    n_epoch_steps: int | None

    @classmethod
    def of(cls, warmup: Sequence[Block], n_epoch_steps: int | None) -> EndedEarly | None:
        """From a warm-up's blocks; None if nothing came after the first two."""
        if len(warmup) <= N_FIRST:
            return None
        return cls(warmup[0], warmup[1], tuple(warmup[N_FIRST:]), n_epoch_steps)

    @property
    def n_steps(self) -> int:
        """Steps that count."""
        return sum(block.steps for block in self.blocks)

    @property
    def samples_per_s(self) -> float:
        """Of all that counts: each block has several times the steps of the one before it."""
        return sum(one.samples for one in self.blocks) / sum(one.seconds for one in self.blocks)

    @property
    def n_borders(self) -> int:
        """Epochs that began with one of them."""
        if not self.n_epoch_steps:
            return 0
        first, last = (one.at_step - 1 for one in (self.before, self.blocks[-1]))
        return last // self.n_epoch_steps - first // self.n_epoch_steps

    @property
    def made_share(self) -> float:
        """Share of the batches that were made meanwhile, as far as that can be told, above 0.

        Where steps waited, all that was ready before is used up; where none did, the queue has to
        be looked at: towards an epoch's end it gets shorter because there is no more to ask for.
        """
        ready, left = self.before.n_ready, self.blocks[-1].n_ready
        if ready is None or (left is None and not self._waits):
            return 1.0
        n_before = ready - (left or 0)
        if n_before <= (0 if self._waits else JITTER):
            return 1.0
        return max(1, self.n_steps - n_before) / self.n_steps

    def require_a_pace(self, n_workers: int, n_prefetched: int) -> None:
        """See that not all of the batches may have been ready before.

        Args:
            n_workers: Loader workers.
            n_prefetched: Batches that the loader's full queue holds.

        Raises:
            InvalidTrial: They may, so that nobody knows how fast they are made.
        """
        ready, left = self.before.n_ready, self.blocks[-1].n_ready
        most = n_prefetched if ready is None else min(ready, n_prefetched)
        if self.n_borders or self.n_steps > most - (left or 0):
            return
        raise InvalidTrial(
            f"the script ended after {self.blocks[-1].at_step} batches, and its {n_workers} loader "
            "workers may have fetched all of them ahead (num_workers * prefetch_factor is "
            f"{n_prefetched}), so that their pace is not known; let it train for longer (more "
            "epochs, more data: hotlap ends each trial itself)"
        )

    def start_s(self, start: EpochStart, steady: Steady) -> float:
        """Seconds of an epoch's start that are in none of the blocks.

        Each border between their steps is; the very first one is not, and where there are others
        it is spread over all that was done.
        """
        if not self.n_borders:
            return start.shown_s(steady)
        n_epochs = self.blocks[-1].at_step / (self.n_epoch_steps or 1)
        return start.shown_s(steady._replace(wait_s=0.0)) / n_epochs

    @property
    def _waits(self) -> bool:
        """Whether steps waited for batches, and not only where epochs began."""
        wait_s = sum(block.data_wait_s for block in self.blocks)
        seconds = sum(block.seconds for block in self.blocks)
        return wait_s - self.n_borders * self.first.data_wait_s > LOADER_BOUND * seconds
