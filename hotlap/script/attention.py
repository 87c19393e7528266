"""Which attention kernels a script's model could use, if it calls torch's attention at all."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from hotlap.inspect_workload import SDPA_BACKENDS
from hotlap.interpose.attention_kernel import AttentionKernel
from hotlap.interpose.nested import mapped
from hotlap.interpose.patches import Patches

HALF = torch.bfloat16
"""As autocast has it."""


class Attention:
    """Hears `scaled_dot_product_attention`, and tries each kernel on its last call.

    What is called outside of a root's training counts for nothing: no kernel reaches it. In a
    reentrant checkpoint it has gradients in the backward pass alone, where others are called again,
    too: there it counts if it was called within a root before.

    Args:
        patches: What was replaced, and is put back in the end.
        kernel: Knows when a root is trained.
    """

    def __init__(self, patches: Patches, kernel: AttentionKernel) -> None:
        self._last: tuple[Any, Any] | None = None
        self._reached = False
        plain: Any = functional.scaled_dot_product_attention

        @functools.wraps(plain)
        def heard(*args: Any, **kwargs: Any) -> Any:
            self._reached |= kernel.within and not kernel.again
            if self._reached and kernel.within and torch.is_grad_enabled():
                self._last = args, kwargs
            return plain(*args, **kwargs)

        self._plain = plain
        patches.put(functional, "scaled_dot_product_attention", heard)

    def facts(self) -> dict[str, Any]:
        """`attention`, `sdpa_backends` and `sdpa_backends_float32`, as of a workload."""
        names = SDPA_BACKENDS if self._last is not None else {}
        full = [name for name, kernel in names.items() if self._runs(kernel, None)]
        half = [name for name, kernel in names.items() if self._runs(kernel, HALF)]
        return {
            "attention": self._last is not None,
            "sdpa_backends": [name for name in SDPA_BACKENDS if name in full or name in half],
            "sdpa_backends_float32": full,
        }

    def _runs(self, kernel: SDPBackend, dtype: torch.dtype | None) -> bool:
        assert self._last is not None

        def anew(tensor: torch.Tensor) -> torch.Tensor:
            if not tensor.is_floating_point():
                return tensor
            return tensor.detach().to(dtype or tensor.dtype).requires_grad_()

        args, kwargs = mapped(self._last[0], anew), mapped(self._last[1], anew)
        try:
            with sdpa_kernel(kernel):
                self._plain(*args, **kwargs).sum().backward()
        except RuntimeError:  # torch's way to say that there is no such kernel for these shapes
            return False
        return True
