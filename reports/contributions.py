"""What each changed setting brings, as a table, and when the costly ones pay back, in words."""

from __future__ import annotations

import math

from rich.table import Table

from hotlap.spoken import MISSING, interval
from reports.arms import plain_table
from reports.contribution import Contribution
from reports.payback import WORTH_A_WORD_S, Payback, payback
from reports.result import Result
from reports.text import number, times
from reports.text import value as written

CAPTION = "What each setting brings, from rounds before the proof with it put back:"

ALONE = "What the one changed setting brings, from the rounds of the proof:"
"""The caption where nothing was put back (see Contribution.of_proof)."""

HEADINGS = ("setting", "value", "baseline", "brings", "")


def caption(result: Result) -> str:
    """Which rounds the figures are from."""
    return ALONE if any(c.of_proof for c in result.contributions) else CAPTION


def contributions_table(result: Result) -> Table:
    """A row for each changed setting; dropped ones are dim."""
    table = plain_table()
    for heading in HEADINGS:
        brings = heading == "brings"
        table.add_column(
            heading, justify="right" if brings else "left", overflow="fold", no_wrap=brings
        )
    for contribution in result.contributions:
        style = "" if contribution.kept else "dim"
        table.add_row(*contribution_cells(contribution), style=style)
    return table


def contribution_cells(c: Contribution) -> list[str]:
    """One row."""
    measured = c.ratio.value > 0  # without it nothing may have run
    brings = f"{times(c.ratio.value)} {interval(c.ratio)}" if measured else MISSING
    reason = ": ".join(part for part in ("" if c.kept else "dropped", c.reason) if part)
    return [c.setting, written(c.value), written(c.default), brings, reason]


def payback_sentences(result: Result) -> list[str]:
    """At which run length each costly setting pays back, a sentence each."""
    paybacks = ((c.setting, contribution_payback(result, c)) for c in result.contributions)
    return [_sentence(setting, back) for setting, back in paybacks if back is not None]


def contribution_payback(result: Result, c: Contribution) -> Payback | None:
    """When the setting pays back; None where it costs nothing worth a word, or time was the goal.

    The objective run_time has weighed the costs already: its ratios are of whole runs.
    """
    if c.without is None or result.objective == "run_time" or c.ratio.value <= 0:
        return None
    back = payback(c.whole or result.winner, c.without, c.ratio.value, result.n_epoch_samples)
    return back if abs(back.extra_s) >= WORTH_A_WORD_S else None


def _sentence(setting: str, back: Payback) -> str:
    seconds = number(abs(back.extra_s), 2)
    if back.extra_s > 0 and math.isinf(back.seconds):
        return f"{setting} costs {seconds} s before the first step and never pays back."
    if back.extra_s > 0:
        return f"{setting} costs {seconds} s before the first step and pays back {back.words}."
    return f"{setting} saves {seconds} s before the first step and pays {back.words}."
