"""Defaults that depend on the device and the batch.

There is one size for a CPU, where a step takes about a second on two cores, and one for a GPU,
which it fills and which has to have 16 GB or more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch.optim import SGD, Optimizer

from hotlap.errors import UserInputError
from hotlap.workload import default_device


def size(name: str, value: int | None, device: str, *, cpu: int, cuda: int) -> int:
    """`value` if the user gave one, else the default for the kind of device that trains.

    Raises:
        UserInputError: `value` is not a whole number from 1.
    """
    default = cuda if device.startswith("cuda") else cpu
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UserInputError(
            f"model.{name} is {value!r}; it takes a whole number from 1, or null for the default; "
            f"type model.{name}={default}"
        )
    return value


def image_sizes(
    device: str | None,
    batch_size: int | None,
    image_size: int | None,
    *,
    cpu: tuple[int, int],
    cuda: tuple[int, int],
) -> tuple[str, int, int]:
    """Device, batch size and image size, the default of each where it is None.

    Args:
        device: The user's, or None.
        batch_size: The user's, or None.
        image_size: The user's in pixels, or None.
        cpu: Batch and image size on a CPU.
        cuda: The same on a GPU.

    Raises:
        UserInputError: A size is given that is no number from 1.
    """
    device = device or default_device()
    batch_size = size("batch_size", batch_size, device, cpu=cpu[0], cuda=cuda[0])
    return device, batch_size, size("image_size", image_size, device, cpu=cpu[1], cuda=cuda[1])


def sgd(
    lr: float | None, weight_decay: float, batch_size: int, *, lr_for: tuple[float, int]
) -> Callable[..., Optimizer]:
    """SGD with momentum, as torchvision's references train.

    Args:
        lr: The user's; None takes the reference's in proportion to the batch (Goyal et al. 2017).
        weight_decay: Of SGD.
        batch_size: Samples of a step.
        lr_for: The reference's learning rate and the batch size that it is for.
    """
    if lr is None:
        lr = lr_for[0] * batch_size / lr_for[1]
    return partial(SGD, lr=lr, momentum=0.9, weight_decay=weight_decay)
