"""The attention kernel that is imposed on a script: in force in training alone.

torch's switches hold for a whole process, and a kernel that training can use may be none for the
script's evaluation: flash and cuDNN attention take half precision only, and no mask. A trial ends
before the first evaluation, so that the full run alone would fail. Other kernels are no way out
while it is in force: torch would take the plain one before cuDNN's.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch

from hotlap.flags import attention, only, set_attention
from hotlap.interpose.patches import Patches


class AttentionKernel:
    """Puts a kernel in force for a root's forward passes in training, and for what belongs to them.

    Args:
        backend: As in Settings; None where none is imposed, and nothing is changed.
        observe: Whether somebody wants to know `within` all the same.

    Attributes:
        wanted: Whether a root's calls have to be told apart at all.
        within: Whether a root is just being trained.
        again: Whether that is a backward pass, in which a block may be called again.
    """

    def __init__(self, backend: str | None, observe: bool = False) -> None:
        self._switches = None if backend is None else only(backend)
        self.wanted = backend is not None or observe
        self.within = self.again = False
        self._used = False

    def install(self, patches: Patches) -> None:
        """Put it in force in backward passes, too, once a root has had it.

        Activation checkpointing calls blocks of a root again there, and what these keep has to be
        what they kept the first time. Its reentrant form has gradients there alone, so that who
        observes hears of attention then.
        """
        if not self.wanted:
            return
        plain: Any = torch.autograd.backward

        @functools.wraps(plain)
        def backward(*args: Any, **kwargs: Any) -> None:
            if not kernel._used:
                plain(*args, **kwargs)
                return
            with kernel.in_force(again=True):
                plain(*args, **kwargs)

        kernel = self
        # Tensor.backward looks it up there at each call.
        patches.put(torch.autograd, "backward", backward)

    @contextlib.contextmanager
    def in_force(self, again: bool = False) -> Iterator[None]:
        """Meanwhile torch may take this kernel alone; then the switches stand as before."""
        before = self.within, self.again
        self.within, self.again = True, again
        self._used = True
        own = None if self._switches is None else attention()
        try:
            if self._switches is not None:
                set_attention(self._switches)
            yield
        finally:
            self.within, self.again = before
            if own is not None:
                set_attention(own)
