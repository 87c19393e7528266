"""How many steps a block has near an epoch's border: whole blocks fill the room before it."""

from __future__ import annotations

import math


def fitting(n_steps: int, unit: int, room: float) -> int:
    """Steps of the next block, about `n_steps`, so that no border cuts it nor one after it.

    Args:
        n_steps: Of a block that has all the room it wants, a whole multiple of `unit`.
        unit: Blocks are whole multiples of so many steps.
        room: Steps before the border; inf if nobody knows where that is.

    Returns:
        Half to one and a half times `n_steps`; 0 where there is not even room for half of it.
    """
    if room == math.inf:
        return n_steps
    n_units = int(room) // unit
    if 2 * n_units * unit < n_steps:
        return 0
    return unit * round(n_units / max(1, round(n_units * unit / n_steps)))
