"""Figures: the numbers of a frozen file's provenance that are read again.

Such files are edited by hand. A figure that is none is told before anything starts: it must not end
a study or a full run when that is done.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

INTERVALS = {"samples_per_s": "samples_per_s_ci95", "speedup": "speedup_ci95"}
"""Each figure with the name of its 95 % interval; both may be null, or not there."""


def number(value: Any) -> float | None:
    """A finite number as a float; None for all else, a whole number too large for one included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def unusable(provenance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, sentence) for each part of a provenance that is read again and cannot be used."""
    for name in ("facts", "versions"):
        if not isinstance(provenance.get(name) or {}, Mapping):
            yield name, f"provenance.{name} has to hold lines like `torch: 2.9.0`"
    for name, of_it in INTERVALS.items():
        value, ends = provenance.get(name), provenance.get(of_it)
        told = {name: value} if value is not None else {}
        if isinstance(ends, (list, tuple)) and len(ends) == 2:
            told |= {f"{of_it}[{i}]": end for i, end in enumerate(ends)}
        elif ends is not None:
            yield of_it, f"provenance.{of_it} has to hold two numbers"
            continue
        wrong = {at: _shown(it) for at, it in told.items() if number(it) is None}
        for at, it in wrong.items():
            yield at.partition("[")[0], f"provenance.{at} is {it}; it has to be a number"
        if ends is None or wrong:
            continue
        if value is None:
            yield of_it, f"provenance.{of_it} stands there without provenance.{name}"
        elif not ends[0] <= value <= ends[1]:
            yield name, f"provenance.{name} is {value:g}; it has to lie within its {of_it}"


def _shown(value: Any) -> str:
    try:
        return repr(value)[:40]
    except ValueError:  # Python writes no number of thousands of digits
        return "a number of thousands of digits"
