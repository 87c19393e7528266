"""Skips: the updates that a script's own GradScaler leaves out because gradients overflow.

Of most optimizers it leaves out the step; a fused one it calls always, with the overflow as a
tensor to look at. Counting both needs no wait for the device (as in hotlap/step.py).
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler

from hotlap.interpose.patches import Patches


class Skips:
    """Counts the updates that scalers were asked for, and those that came of it.

    Args:
        patches: What was replaced, and is put back in the end.

    Attributes:
        n_asked: Calls of `GradScaler.step` with scaling enabled.
    """

    def __init__(self, patches: Patches) -> None:
        self.n_asked = 0
        self._n_left_out = 0
        self._overflows: dict[torch.device, torch.Tensor] = {}
        self._stepped = False
        plain: Any = GradScaler.step
        skips = self

        @functools.wraps(plain)
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.is_enabled():
                return plain(self, *args, **kwargs)
            skips._stepped = False
            result = plain(self, *args, **kwargs)
            skips.n_asked += 1
            skips._n_left_out += not skips._stepped
            return result

        patches.put(GradScaler, "step", step)

    def stepped(self, optimizer: Any) -> None:
        """An optimizer stepped."""
        self._stepped = True
        found = getattr(optimizer, "found_inf", None)
        if isinstance(found, torch.Tensor):
            overflows = self._overflows.setdefault(found.device, torch.zeros_like(found))
            overflows += found != 0

    @property
    def n_skipped(self) -> int:
        """Updates left out so far; reading it waits for the device."""
        return self._n_left_out + sum(int(n.item()) for n in self._overflows.values())

    def asked_and_skipped(self) -> tuple[int, int]:
        """Updates asked for, and those of them left out, so far; waits for the device."""
        return self.n_asked, self.n_skipped
