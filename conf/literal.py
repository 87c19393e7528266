"""Texts that mean themselves, in a config where `${` and `???` would mean something else.

A script's arguments are anybody's words. OmegaConf resolves a literal to the text as it was.
"""

from __future__ import annotations

import re
from typing import Any

MISSING = "???"
"""OmegaConf's word for a value that has still to be given."""

_DECODED = "${oc.decode:\"'???'\"}"
"""There is no escape for the word itself; this resolves to it."""

_REFERENCE = re.compile(r"(\\*)\$\{")


def literal(value: Any) -> Any:
    """`value` with every text in it, keys left out, so written that it resolves to itself."""
    if isinstance(value, dict):
        return {key: literal(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [literal(inner) for inner in value]
    if not isinstance(value, str):
        return value
    if value == MISSING:
        return _DECODED
    return _REFERENCE.sub(lambda found: f"{found[1] * 2}\\${{", value)
