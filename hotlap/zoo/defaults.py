"""Sizes that depend on the device: a step is about a second on two CPU cores, and fills a GPU."""

from __future__ import annotations

from hotlap.errors import UserInputError


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
