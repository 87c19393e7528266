"""Block: a timed piece of training, the raw material of every number. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

LOADER_BOUND = 0.02
"""Above this share of waiting the loader matters: where its queue has run empty, steps wait."""

JITTER = 2
"""By so many batches a full queue at rest goes up and down, looked at a whole round of workers
apart."""


@dataclass(frozen=True)
class Block:
    """A timed piece of training: a whole multiple of `num_workers` steps, unless it ended there.

    Attributes:
        steps: Optimizer updates.
        samples: Samples trained on.
        seconds: Wall clock between its two borders (hotlap/block_timer.py).
        data_wait_s: Of these, seconds blocked in `next(loader)`.
        other_cpu_share: CPU that others than the trial used, in cores' share 0..1 of the machine.
        loss: The last step's loss, or None.
        n_ready: Batches that the loader had ready at the end, None if that cannot be told or if
            the epoch has no more left than the queue holds.
        at_step: Steps since the trial's start at the block's end, those between blocks included.
        host_bytes: Memory of the trial's processes then; this and the next three as
            hotlap/resources.py says, None where that cannot be told.
        open_files: Open files of the process that has the most.
        shared_bytes: How much more of /dev/shm was in use than at the trial's start.
        device_bytes: Memory that torch's tensors hold on the device.
        stalled_s: Of `data_wait_s`, seconds in which the device had nothing to do
            (hotlap/device_stalls.py); None where no device is watched.
    """

    steps: int
    samples: int
    seconds: float
    data_wait_s: float = 0.0
    other_cpu_share: float = 0.0
    loss: float | None = None
    n_ready: int | None = None
    at_step: int = 0
    host_bytes: int | None = None
    open_files: int | None = None
    shared_bytes: int | None = None
    device_bytes: int | None = None
    stalled_s: float | None = None

    @property
    def waits(self) -> bool:
        """Whether the loader kept the steps waiting, and not for a moment."""
        return self.data_wait_s > LOADER_BOUND * self.seconds

    @property
    def computing_s(self) -> float:
        """Seconds of a step, without its waiting for data."""
        return (self.seconds - self.data_wait_s) / self.steps
