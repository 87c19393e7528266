"""A batch that comes again as it was, whatever a training step has done with it."""

from __future__ import annotations

from typing import Any

import torch

from hotlap.interpose.nested import mapped, tensors


class Kept:
    """Hands out one batch again and again.

    Its tensors are written to only after a step has written to them: as a rule nothing is copied.

    Args:
        batch: Its containers (see hotlap/interpose/nested.py) are looked into; other objects in it
            come again as they are.
    """

    def __init__(self, batch: Any) -> None:
        self._batch = mapped(batch, torch.Tensor.detach)  # the containers are the step's to change
        self._values = [tensor.clone() for tensor in tensors(self._batch)]
        self._versions = self._written()

    def again(self) -> Any:
        """The batch, in containers and tensors of its own, which share their memory with it."""
        if self._written() != self._versions:
            with torch.no_grad():
                for tensor, value in zip(tensors(self._batch), self._values, strict=True):
                    tensor.copy_(value)
            self._versions = self._written()
        return mapped(self._batch, _twin)

    def _written(self) -> list[int]:
        """How often each tensor was written to, by itself or by one that shares its memory."""
        return [tensor._version for tensor in tensors(self._batch)]


def _twin(tensor: torch.Tensor) -> torch.Tensor:
    """Another tensor of the same memory; unlike a detached one it may change its shape."""
    plain = tensor.layout == torch.strided and not tensor.is_nested
    return tensor.detach().view_as(tensor) if plain else tensor.detach()
