"""Fault: one mistake of a config, as a sentence with four parts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """One mistake, in words for the person who made it.

    Attributes:
        what: What is wrong.
        where: The file and its line, or the words on the command line.
        right: What would be right.
        cure: What to type.
        key: The key it is about, to tell which faults follow from which.
    """

    what: str
    where: str
    right: str
    cure: str
    key: str = field(default="", compare=False)

    def __str__(self) -> str:
        return (
            f"{self.what}\n    where: {self.where}\n    right: {self.right}\n    type:  {self.cure}"
        )


def report(faults: Sequence[Fault]) -> str:
    """All `faults` as one text, numbered, none twice."""
    unique = list(dict.fromkeys(faults))
    count = "1 mistake" if len(unique) == 1 else f"{len(unique)} mistakes"
    parts = [f"{n}. {fault}" for n, fault in enumerate(unique, 1)]
    return "\n".join([f"{count} in what was asked for; nothing was started.", *parts])


def nearest(word: str, words: Iterable[str], likeness: float = 0.6) -> str:
    """The one of `words` that `word` was probably meant to be, or an empty text.

    `likeness` is difflib's ratio, 0..1, from which two words count as one mistyped.
    """
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=likeness)
    return close[0] if close else ""


def among(words: Iterable[str]) -> str:
    """`one of a, b, c`."""
    return f"one of {', '.join(words)}"


def without_consequences(first: Sequence[Fault], later: Iterable[Fault]) -> list[Fault]:
    """Those of the `later` faults that are not about something already in `first`.

    A key that could not be read is left out before the values are checked; that its knob then
    lacks a range is the same mistake, not a second one.
    """
    spoilt = [fault.key for fault in first if fault.key]
    return [fault for fault in later if not any(_same_thing(fault.key, key) for key in spoilt)]


def _same_thing(one: str, other: str) -> bool:
    a, b = one.split("."), other.split(".")
    depth = 2 if a[0] == b[0] == "search_space" else min(len(a), len(b))
    return a[:depth] == b[:depth]
