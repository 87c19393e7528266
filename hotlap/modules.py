"""The model: on its device, in its memory format, compiled in place."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from hotlap.batches import has_image_rank
from hotlap.notes import Note, tell
from hotlap.settings import Settings

FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
"""Value of `memory_format` -> torch's own name for it."""


def model(
    module: nn.Module,
    settings: Settings,
    device: torch.device | str | None = None,
    *,
    notes: list[Note] | None = None,
) -> nn.Module:
    """Put `settings` in force on `module` and return that same object.

    The object, its `state_dict` keys and its parameters stay the same, so an optimizer may be
    built before or after. Only calls of the module itself, `module(...)`, run compiled code. With
    `compile_mode` reduce-overhead or max-autotune on CUDA its outputs, and the gradients of
    parameters that had none, lie where the next step writes: `hotlap.Step` copies what is kept of
    them, and lines of one's own have to (`clone`).

    Args:
        module: The outermost module.
        settings: `memory_format` and `compile_mode` are read.
        device: Where it goes; None leaves it where it is.
        notes: Gets a note for each setting that could not be put in force; None logs them.
    """
    if device is not None:
        module.to(device)
    if settings.memory_format == "channels_last" and not lay_out(module):
        tell(notes, "memory_format", "the model has no 4-D parameter that could be channels_last")
    if settings.compile_mode != "none":
        module.compile(mode=settings.compile_mode)
    return module


def lay_out(module: nn.Module, memory_format: str = "channels_last") -> int:
    """Give all 4-D parameters and buffers this memory format; returns how many there are.

    One by one and not by `module.to(memory_format=...)`: that one fails as soon as a single
    parameter is 5-D, and on classes with a `.to()` of their own.
    """
    tensors = [*module.parameters(), *module.buffers()]
    images = [t for t in tensors if not is_lazy(t) and has_image_rank(t)]
    wanted = FORMATS[memory_format]
    for tensor in images:
        tensor.data = tensor.data.contiguous(memory_format=wanted)
        if tensor.grad is not None:
            tensor.grad.data = tensor.grad.data.contiguous(memory_format=wanted)
    return len(images)


def first_parameter(module: nn.Module) -> nn.Parameter | None:
    """`next(module.parameters(), None)` without its generators, for who asks at each call."""
    return _first(module, set())


def layout_of(tensor: torch.Tensor) -> str:
    """The memory format of a tensor: contiguous, channels_last, either or other."""
    last = has_image_rank(tensor) and tensor.is_contiguous(memory_format=torch.channels_last)
    if last and tensor.is_contiguous():
        return "either"  # one channel, or one pixel
    return "channels_last" if last else "contiguous" if tensor.is_contiguous() else "other"


def _first(module: nn.Module, met: set[int]) -> nn.Parameter | None:
    for parameter in module._parameters.values():
        if parameter is not None:
            return parameter
    met.add(id(module))  # some modules hold one that holds them
    for part in module._modules.values():
        if part is not None and id(part) not in met:
            if (found := _first(part, met)) is not None:
                return found
    return None
