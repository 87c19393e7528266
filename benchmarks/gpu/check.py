"""Check: one promise that a command can try, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Status = Literal["PASS", "FAIL", "SKIP"]


class Verdict(NamedTuple):
    """What came of a check: the status, and a line that says what was seen, or why it is so."""

    status: Status
    detail: str


@dataclass(frozen=True)
class Check:
    """One promise.

    Attributes:
        name: What the output line and `--only` call it.
        cost_s: It is not begun with less time left than this.
        run: `run(timeout_s)` tries it; it may raise, which is a FAIL.
    """

    name: str
    cost_s: float
    run: Callable[[float], Verdict]


def passed(detail: str) -> Verdict:
    """The promise holds."""
    return Verdict("PASS", detail)


def failed(detail: str) -> Verdict:
    """It does not."""
    return Verdict("FAIL", detail)


def skipped(detail: str) -> Verdict:
    """It could not be tried, and `detail` says why."""
    return Verdict("SKIP", detail)
