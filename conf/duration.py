"""Durations as people write them: 90s, 10m, 1h, 1h30m."""

from __future__ import annotations

import re

from hotlap.errors import UserInputError

UNITS_S = {"h": 3600, "m": 60, "s": 1}
MOST_S = 1e9
"""Thirty years."""

_FORM = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")


def seconds(text: str) -> float:
    """The seconds that `text` says: hours, minutes and seconds in this order, each optional.

    Raises:
        UserInputError: `text` is no such duration, or not longer than zero, or longer than any.
    """
    match = _FORM.fullmatch(text.strip())
    if not text.strip() or match is None:
        raise UserInputError(f"'{text}' is no duration; write 90s, 10m, 1h or 1h30m")
    parts = zip(match.groups(), UNITS_S.values(), strict=True)
    total = sum(float(number) * unit for number, unit in parts if number)
    if total > MOST_S:
        raise UserInputError(f"'{text[:40]}' is longer than any study; write 90s, 10m or 1h30m")
    if total <= 0:
        raise UserInputError(f"'{text}' is no time at all; write 90s, 10m, 1h or 1h30m")
    return total
