"""The verdict: a table a loop, and a sentence for each target that is missed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.rival.judge import (
    CONTROL,
    DEFAULT,
    GRID,
    LEAST,
    Ratio,
    Round,
    n_failed,
    ratio,
)
from benchmarks.rival.tuners import OURS, RIVALS, Answer

SHARE = 0.95
"""Of the grid's best, what ours has to reach."""

UNASKED = "it was not asked with these options"

HEAD = ("", "judged speedup", "claimed", "of grid's best", "minutes", "settings")


@dataclass(frozen=True)
class Loop:
    """One loop, tuned and judged.

    Attributes:
        name: The loop.
        answers: Each tuner's.
        best: The grid's best settings.
        grid_minutes: What the grid took.
        rounds: The judge's.
    """

    name: str
    answers: Mapping[str, Answer]
    best: Mapping[str, Any]
    grid_minutes: float
    rounds: Sequence[Round]

    def speedup(self, arm: str) -> Ratio:
        """Over the untuned default."""
        return ratio(self.rounds, arm)

    def share(self, arm: str) -> Ratio:
        """Of what the grid's best reaches in the same rounds."""
        return ratio(self.rounds, arm, GRID)

    def failures(self, arm: str) -> str:
        """In how many rounds it failed, in words; empty if in none."""
        n = n_failed(self.rounds, arm)
        return f"failed in {n} of {len(self.rounds)} rounds" if n else ""

    def rivals(self) -> list[str]:
        """The other tuners that gave an answer."""
        return [name for name, one in self.answers.items() if name != OURS and not one.failed]


def misses(loop: Loop) -> list[str]:
    """Which targets ours misses on this loop, a sentence each; none without ours."""
    ours = loop.answers.get(OURS)
    if ours is None:
        return []
    if ours.failed:
        return [f"{loop.name}: ours gave no answer: {ours.failed}"]
    mine, share = loop.speedup(OURS), loop.share(OURS)
    failures = loop.failures(OURS)
    if math.isnan(mine.value):
        few = f"fewer than {LEAST} rounds tell of ours"
        return [f"{loop.name}: {few}{f', which {failures}' if failures else ''}"]
    found = [f"{loop.name}: what ours has frozen {failures}"] if failures else []
    for name in loop.rivals():
        theirs = loop.speedup(name)
        if math.isnan(theirs.value):
            continue  # its settings do not even run, as the table says
        if theirs.low > mine.high:
            found.append(f"{loop.name}: {name} is first with {_text(theirs)}, ours {_text(mine)}")
        elif not mine.low > theirs.high and share.high < 1:
            found.append(f"{loop.name}: not apart from {name}, and below the grid's best")
        too_long = round(ours.minutes, 1) > round(loop.answers[name].minutes, 1)
        if theirs.high >= mine.low and too_long:
            minutes = f"{loop.answers[name].minutes:.1f} minutes, ours {ours.minutes:.1f}"
            found.append(f"{loop.name}: {name} does as well in {minutes}")
    if math.isnan(share.value):
        found.append(f"{loop.name}: no share of the grid's best is known: it {loop.failures(GRID)}")
    elif share.value < SHARE:
        found.append(f"{loop.name}: {share.value:.1%} of the grid's best, not {SHARE:.0%}")
    if ours.low is not None and ours.high is not None and not ours.low <= mine.value <= ours.high:
        claim = f"{ours.claimed:.2f}x [{ours.low:.2f}, {ours.high:.2f}]"
        found.append(f"{loop.name}: our claim {claim} does not hold the judged {mine.value:.2f}x")
    return found


def unjudged(loop: Loop) -> list[str]:
    """Why nobody can tell who is first on this loop; empty if one can."""
    if OURS not in loop.answers:
        return [f"{loop.name}: ours has no answer: {UNASKED}"]
    if not loop.rivals():
        return [f"{loop.name}: no rival has an answer, so nobody knows who is first"]
    return []


def table(loop: Loop) -> str:
    """The loop's arms, a line each, tuners first."""
    lines = [(f"{loop.name}, {len(loop.rounds)} rounds", *HEAD[1:])]
    for name, answer in loop.answers.items():
        if answer.failed:
            lines.append((name, "-", "-", "-", f"{answer.minutes:.1f}", f"no: {answer.failed}"))
        else:
            lines.append(_line(loop, name, claim_of(answer), answer.minutes, answer.settings))
    lines.append(_line(loop, GRID, "-", loop.grid_minutes, loop.best))
    lines.append(_line(loop, f"{CONTROL} (A/A)", "-", None, {}))
    widths = [max(len(line[i]) for line in lines) + 2 for i in range(len(HEAD))]
    return "\n".join("".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def claim_of(answer: Answer) -> str:
    """The claimed speedup as a cell: with its interval, where the tuner gives one."""
    if answer.claimed is None:
        return "-"
    said = f"{answer.claimed:.2f}x"
    if answer.low is None or answer.high is None:
        return said
    return f"{said} [{answer.low:.2f}, {answer.high:.2f}]"


def doubts(loop: Loop) -> list[str]:
    """A sentence for each rival without an answer and each arm that failed, and of the control."""
    asked = {name: loop.answers.get(name, Answer(failed=UNASKED)) for name in RIVALS}
    found = [f"{loop.name}: {n} has no answer: {a.failed}" for n, a in asked.items() if a.failed]
    arms = (DEFAULT, CONTROL, *loop.rivals(), GRID)
    found += [f"{loop.name}: {arm} {loop.failures(arm)}" for arm in arms if loop.failures(arm)]
    control = loop.speedup(CONTROL)
    if not math.isnan(control.value) and not control.low <= 1 <= control.high:
        beside = f"{DEFAULT} beside itself is {_text(control)}"
        found.append(f"{loop.name}: {beside}; judge again when it is quiet")
    return found


def written(settings: Mapping[str, Any]) -> str:
    """Settings as tune.py writes them; `as it was` for none."""
    text = (f"{name}={str(v).lower() if v is not None else 'null'}" for name, v in settings.items())
    return " ".join(text) or "as it was"


def _line(
    loop: Loop, name: str, claim: str, minutes: float | None, settings: Mapping[str, Any]
) -> tuple[str, ...]:
    arm = CONTROL if name.startswith(CONTROL) else name
    share = loop.share(arm)
    took = "-" if minutes is None else f"{minutes:.1f}"
    part = "-" if math.isnan(share.value) else f"{share.value:.1%}"
    judged = _text(loop.speedup(arm))
    if failures := loop.failures(arm):
        judged += f" ({failures})"
    return (name, judged, claim, part, took, written(settings))


def _text(one: Ratio) -> str:
    if math.isnan(one.value):
        return "-"
    return f"{one.value:.3f}x [{one.low:.3f}, {one.high:.3f}]"
