"""The end of a study, on the screen and as Markdown: arms, what was found, what to type next."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.arms import SIDE_HEADINGS, arms_table, cells, headings, side_rows, sides_table
from reports.contributions import (
    HEADINGS,
    caption,
    contribution_cells,
    contributions_table,
    payback_sentences,
)
from reports.doubt import Doubt
from reports.result import Result
from reports.sentences import sentences
from reports.text import assignments

ONE_LINE_WIDTH = 100
"""From this many columns on, a number and its interval fit on one line."""


def print_result(result: Result, console: Console) -> None:
    """Print the whole end of a study; the last line names the frozen file.

    Commands and paths are never broken into lines, so that they can be pasted.
    """
    console.print()
    console.print(arms_table(result, wide=console.width >= ONE_LINE_WIDTH))
    for name, arm in result.arms.items():
        if changed := arm.settings.changed():
            console.print(_hanging(f"{name}: ", assignments(changed)), highlight=False)
    if sides := sides_table(result):
        console.print(sides)
    console.print()
    for sentence in sentences(result):
        console.print(Text(sentence))
    if result.contributions:
        console.print()
        console.print(Text(caption(result)))
        console.print(contributions_table(result))
    for sentence in payback_sentences(result):
        console.print(Text(sentence))
    if result.refused:
        console.print()
    for refusal in result.refused:
        console.print(_hanging(f"refused {refusal.name}: ", refusal.why), highlight=False)
    if result.warnings:
        console.print()
    for doubt in result.warnings:
        _print_doubt(doubt, console)
    if result.commands:
        console.print()
    for purpose, command in result.commands.items():
        console.print(Text(f"{purpose}:", style="dim"))
        console.print(Text(f"  {command}"), soft_wrap=True)
    console.print()
    where = result.frozen or result.folder
    what = "frozen settings" if result.frozen else "study"
    console.print(Text.assemble((f"{what}: ", "bold"), str(where)), soft_wrap=True)


def markdown(result: Result) -> str:
    """The same as Markdown, for MLflow's description of the study."""
    rows = [
        [f"**{name}**", *cells(result, arm, " "), f"`{assignments(arm.settings.changed())}`"]
        for name, arm in result.arms.items()
    ]
    told = [_table(["", *headings(result), "changed"], rows)]
    if sides := side_rows(result):
        told.append(_table(["", *SIDE_HEADINGS], sides))
    told += sentences(result)
    if result.contributions:
        rows = [contribution_cells(c) for c in result.contributions]
        told += [caption(result), _table(HEADINGS, rows)]
    told += payback_sentences(result)
    told += [f"Refused {refusal.name}: {refusal.why}" for refusal in result.refused]
    told += [_doubt_markdown(doubt) for doubt in result.warnings]
    told += [f"{purpose}:\n\n    {command}" for purpose, command in result.commands.items()]
    return "\n\n".join(told)


def _print_doubt(doubt: Doubt, console: Console) -> None:
    console.print(Text(f"warning [{doubt.name}]: {doubt.sentence}", style="yellow"))
    for name, text in _more(doubt):
        console.print(_hanging(f"  {name}: ", text, style=""), highlight=False)


def _doubt_markdown(doubt: Doubt) -> str:
    more = (f"{name.capitalize()}: {text}" for name, text in _more(doubt))
    return ". ".join([f"Warning [{doubt.name}]: {doubt.sentence}", *more])


def _more(doubt: Doubt) -> tuple[tuple[str, str], ...]:
    return ("likely cause", doubt.cause), ("what to do", doubt.advice)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _hanging(head: str, text: str, style: str = "bold") -> Table:
    """`text` beside `head`, its further lines under its first."""
    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(Text(head, style=style), Text(text))
    return grid
