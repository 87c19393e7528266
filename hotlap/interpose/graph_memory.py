"""Memory that CUDA graphs write again: what a script keeps of it is copied in time.

A compiled root's outputs lie where its next replay writes, and so does the gradient that a
parameter without one takes over in the backward pass (pytorch#169545). A script that keeps losses
to its epoch's end, adds gradients up or zeroes them in place would crash there, or read what
another step has left. hotlap's own step does the same in its own way (hotlap/step.py).

No step is marked as begun: after a backward pass torch begins anew by itself, and a mark before
each forward pass would give away what the first of two still needs for the backward pass of both.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch

from hotlap.interpose.nested import mapped
from hotlap.interpose.patches import Patches
from hotlap.settings import CUDA_GRAPH_MODES
from hotlap.unseen import unseen

Call = Callable[..., Any]


class GraphMemory:
    """Copies what the script may keep of a compiled root's memory.

    Args:
        mode: The imposed compile mode; without CUDA graphs in it nothing is done.
        trained: Gives the parameters of all optimizers.
    """

    def __init__(self, mode: str, trained: Callable[[], Iterable[torch.Tensor]]) -> None:
        self._has_graphs = mode in CUDA_GRAPH_MODES
        self._trained = trained
        self._took_over: dict[int, weakref.ref[torch.Tensor]] = {}

    def install(self, patches: Patches) -> None:
        """Hear of backward passes: which parameters had no gradient before."""
        if not self._has_graphs:
            return
        plain: Any = torch.autograd.backward

        @functools.wraps(plain)
        def backward(*args: Any, **kwargs: Any) -> None:
            without = [p for p in memory._trained() if p.grad is None and may_be_a_graphs(p)]
            plain(*args, **kwargs)
            memory._took_over |= {id(p): weakref.ref(p) for p in without}

        memory = self
        # Tensor.backward looks it up there at each call.
        patches.put(torch.autograd, "backward", backward)

    def around(self, compiled: Call) -> Call:
        """A compiled root that leaves alone what the script has of earlier calls."""
        if not self._has_graphs:
            return compiled

        @unseen
        def call(*args: Any, **kwargs: Any) -> Any:
            memory._keep_gradients()
            return mapped(compiled(*args, **kwargs), _copied)

        memory = self
        return call

    def _keep_gradients(self) -> None:
        # Only now: a script that lets go of them before its next forward pass needs no copy.
        for reference in self._took_over.values():
            parameter = reference()
            if parameter is not None and parameter.grad is not None:
                parameter.grad = parameter.grad.clone()
        self._took_over.clear()


def may_be_a_graphs(tensor: torch.Tensor) -> bool:
    """Whether a CUDA graph may write there."""
    return tensor.is_cuda


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clone() if may_be_a_graphs(tensor) else tensor
