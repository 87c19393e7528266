"""How many samples the batches of one pass over a DataLoader have, whatever they are made of.

A batch need not be a tensor whose first dimension counts samples (graphs, ragged text, time first),
so the loader is asked and not the batch, wherever it knows.
"""

from __future__ import annotations

import contextlib
from typing import Any

from torch.utils.data import BatchSampler

from hotlap.errors import InvalidTrial
from hotlap.same_numbers import same_numbers
from hotlap.workload import count


class PassSize:
    """The samples of each batch of a pass, in order.

    Args:
        loader: The DataLoader.
    """

    def __init__(self, loader: Any) -> None:
        sampler = getattr(loader, "batch_sampler", None)
        size = loader.batch_size or getattr(sampler, "batch_size", None)
        self._size = size if isinstance(size, int) else None
        self.n_batches = length(loader)
        self._last = self._size
        keeps_rest = not (loader.drop_last or getattr(sampler, "drop_last", False))
        order = getattr(loader, "sampler", None)
        if isinstance(sampler, BatchSampler):  # the loader's own one may be there for nothing
            order = getattr(sampler, "sampler", order)
        n_samples = length(order)
        if self._size and self.n_batches and n_samples and keeps_rest:
            rest = n_samples - (self.n_batches - 1) * self._size
            if 0 < rest < self._size:
                self._last = rest

    def of(self, i: int, batch: Any) -> int:
        """The samples of batch `i` (from 0); 1 if nobody knows."""
        if self._size is None:
            try:
                return int(count(batch))
            except InvalidTrial:
                return 1
        return self._last or 1 if i + 1 == self.n_batches else self._size


ASKED = "_IterableDataset_len_called"
"""Where a DataLoader over a stream keeps the length that somebody asked it for: its later passes
warn of each batch more. Only the script may have asked."""


def length(sized: Any) -> int | None:
    """`len(sized)`, None if it has none; all random numbers stay as they are without that."""
    held = getattr(sized, "__dict__", {})
    before = held.get(ASKED)
    try:
        with contextlib.nullcontext() if _is_torchs(sized) else same_numbers():
            return len(sized)
    except Exception:
        # A stream has none, and what wraps one may find that out by asking it. Whoever really needs
        # the length, the script, meets the same error itself.
        return None
    finally:
        if ASKED in held:
            held[ASKED] = before


def _is_torchs(sized: Any) -> bool:
    """Whether torch's own classes alone say how long it is: another may draw its order for that."""
    module = getattr(getattr(type(sized), "__len__", None), "__module__", None) or ""
    parts = (getattr(sized, name, None) for name in ("batch_sampler", "sampler"))
    return module.startswith("torch.") and all(part is None or _is_torchs(part) for part in parts)
