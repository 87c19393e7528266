"""A batch in three values, by which two batches of different processes are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

DEPTH = 6
"""Nested deeper than that, an object is looked at no further (it may hold itself)."""

Fingerprint = list[Any]
"""`[all, rest, size]`: a digest of everything in it, one of everything but floating-point values,
and the sum of their magnitudes. Equal digests of everything: the same bits. Otherwise, an equal
digest of the rest and sizes that agree to rounding: the same batch, computed in another order."""


def fingerprint(batch: Any) -> Fingerprint:
    """The fingerprint of anything nested that holds tensors."""
    every, rest = hashlib.blake2b(digest_size=8), hashlib.blake2b(digest_size=8)
    size = 0.0
    for leaf in _leaves(batch, DEPTH):
        if isinstance(leaf, np.ndarray) and leaf.dtype != object:
            every.update(np.ascontiguousarray(leaf).tobytes())
            if leaf.dtype.kind in "fc":
                size += float(np.nansum(np.abs(leaf), dtype=np.float64))
                leaf = leaf.shape
            else:
                rest.update(np.ascontiguousarray(leaf).tobytes())
                continue
        text = repr(leaf).encode()
        every.update(text)
        rest.update(text)
    return [every.hexdigest(), rest.hexdigest(), size]


def _leaves(value: Any, depth: int) -> Iterator[Any]:
    """Arrays, numbers and texts in their order; types only of what cannot be looked into."""
    if isinstance(value, torch.Tensor):
        yield _array(value)
    elif value is None or isinstance(value, (bool, int, float, str, bytes, np.ndarray, np.generic)):
        yield value
    elif depth == 0:
        yield type(value).__name__
    elif isinstance(value, Mapping):
        for key in value:
            yield str(key)
            yield from _leaves(value[key], depth - 1)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _leaves(part, depth - 1)
    else:
        yield type(value).__name__
        for name, part in sorted(getattr(value, "__dict__", {}).items()):
            yield name
            yield from _leaves(part, depth - 1)


def _array(tensor: torch.Tensor) -> Any:
    tensor = tensor.detach().cpu()
    if tensor.is_nested or tensor.layout != torch.strided:
        return f"{tensor.layout} {tensor.dtype}"
    if tensor.dtype == torch.bfloat16:  # numpy has no such type
        tensor = tensor.float()
    try:
        return tensor.contiguous().resolve_conj().resolve_neg().numpy()
    except TypeError:  # float8 and quantized ones: numpy has none either
        return f"{tensor.dtype} {tuple(tensor.shape)}"
