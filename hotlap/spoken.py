"""Numbers as all parts of hotlap write them into sentences."""

from __future__ import annotations

import math
from decimal import Decimal

from hotlap.measurement import Rate

MISSING = "-"
"""Stands where nothing was measured."""

UNKNOWN = "too uncertain"
"""Stands for an interval that says nothing."""

FINE_BELOW = 0.1
"""A finely written share has a decimal below that: 2.1 % and 31 %."""


def percent(share: float | None, fine: bool = False) -> str:
    """A share 0..1 in percent, as `31 %`; a trace is told from nothing: `<1 %`.

    Args:
        share: None or not finite where nothing was measured.
        fine: One decimal for a small share, as `2.1 %`.
    """
    if share is None or not math.isfinite(share):
        return MISSING
    decimals = 1 if fine and share < FINE_BELOW else 0
    least = 10.0 ** -(decimals + 2)
    return (
        f"<{100 * least:g} %" if 0 < share < least else f"{share:.{decimals}%}".replace("%", " %")
    )


def count(n: int, word: str) -> str:
    """`1 step`, `3 steps`."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def typed(value: float) -> str:
    """A number as a person types it: nothing rounded away, and never with an exponent.

    `format(value, "g")` is neither: 1209600 is 1.2096e+06 there, which is no duration, and a limit
    of 1234.567 is 1234.57, which lies above it.
    """
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def interval(ratio: Rate) -> str:
    """A ratio's interval, as [1.28, 1.34]; words where it says nothing."""
    return f"[{ratio.low:.2f}, {ratio.high:.2f}]" if ratio.known else f"({UNKNOWN})"
