"""The end of a study on the screen: the compared arms, what was found, what to type next."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.result import Arm, Contribution, Ratio, Result
from reports.text import MISSING, assignments, clock, milliseconds, number, percent, size, times
from reports.text import value as written

ONE_LINE_WIDTH = 100
"""From this many columns on, a number and its interval fit on one line."""


def print_result(result: Result, console: Console) -> None:
    """Print the whole end of a study; the last line names the frozen file.

    Commands and paths are never broken into lines, so that they can be pasted.
    """
    console.print()
    console.print(_arms(result, wide=console.width >= ONE_LINE_WIDTH))
    for name, arm in result.arms.items():
        if changed := arm.settings.changed():
            console.print(_hanging(f"{name}: ", assignments(changed)), highlight=False)
    console.print()
    for sentence in sentences(result):
        console.print(Text(sentence))
    if result.contributions:
        console.print()
        console.print(_contributions(result.contributions))
    if result.warnings:
        console.print()
    for line in result.warnings:
        console.print(Text(f"warning: {line}", style="yellow"))
    if result.commands:
        console.print()
    for purpose, command in result.commands.items():
        console.print(Text(f"{purpose}:", style="dim"))
        console.print(Text(f"  {command}"), soft_wrap=True)
    console.print()
    where = result.frozen or result.folder
    what = "frozen settings" if result.frozen else "study"
    console.print(Text.assemble((f"{what}: ", "bold"), str(where)), soft_wrap=True)


def sentences(result: Result) -> list[str]:
    """What was found, in plain sentences."""
    said = []
    speedup = result.winner.speedup
    own = result.baseline.settings.changed()
    baseline = "its own baseline" if own else "PyTorch's defaults"
    if result.found_better and speedup is not None:
        said.append(
            f"The winner trains {times(speedup.value)} as fast as {baseline} "
            f"(95 % interval {_interval(speedup)})."
        )
        if (extra_s := result.winner.compile_s - result.baseline.compile_s) >= 1:
            said.append(_compile_sentence(extra_s, speedup.value))
    else:
        same = baseline if own else "the default"
        said.append(f"Nothing better than {same} was found, so {same} is frozen.")
    if result.diagnosis:
        said.append(result.diagnosis)
    counts = ", ".join(f"{n} {outcome}" for outcome, n in result.n_outcomes.items() if n)
    n_trials = sum(result.n_outcomes.values())
    trials = "1 trial" if n_trials == 1 else f"{n_trials} trials"
    said.append(f"{trials} ({counts or 'none'}) in {clock(result.wall_s)}.")
    return said


def markdown(result: Result) -> str:
    """The same as Markdown, for MLflow's description of the study."""
    head = "| | samples/s | speedup | step | data wait | peak host | peak device | changed |"
    rows = [head, "|" + " --- |" * 8]
    for name, arm in result.arms.items():
        cells = [f"**{name}**", *_cells(arm, " "), f"`{assignments(arm.settings.changed())}`"]
        rows.append(f"| {' | '.join(cells)} |")
    parts = ["\n".join(rows), *sentences(result)]
    if result.contributions:
        lines = ["| setting | value | default | brings | |", "| --- | --- | --- | --- | --- |"]
        lines += [f"| {' | '.join(_contribution_cells(c))} |" for c in result.contributions]
        parts.append("\n".join(lines))
    parts += [f"Warning: {line}" for line in result.warnings]
    parts += [f"{purpose}:\n\n    {command}" for purpose, command in result.commands.items()]
    return "\n\n".join(parts)


def _arms(result: Result, wide: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, title_justify="left")
    table.title = Text(result.workload, style="bold")
    table.add_column("", no_wrap=True)
    for heading in ("samples/s", "speedup", "step", "data wait", "peak host", "peak device"):
        table.add_column(heading if wide else heading.replace(" ", "\n"), justify="right")
    for name, arm in result.arms.items():
        style = "bold green" if name == "winner" else ""
        table.add_row(name, *_cells(arm, " " if wide else "\n"), style=style)
    return table


def _cells(arm: Arm, separator: str) -> list[str]:
    """One row: a number and its interval are parted by `separator`."""
    rate = f"{number(arm.rate.value)}{separator}{_interval_of_rate(arm)}"
    speedup = "1.00x"
    if arm.speedup is not None:
        speedup = f"{times(arm.speedup.value)}{separator}{_interval(arm.speedup)}"
    memory = [size(arm.peak_host_bytes), size(arm.peak_device_bytes)]
    return [rate, speedup, milliseconds(arm.step_time_s), percent(arm.data_wait_share), *memory]


def _interval(ratio: Ratio) -> str:
    return f"[{ratio.low:.2f}, {ratio.high:.2f}]"


def _interval_of_rate(arm: Arm) -> str:
    low, high = number(arm.rate.low), number(arm.rate.high)
    return "[?]" if MISSING in (low, high) else f"[{low}, {high}]"


def _compile_sentence(extra_s: float, speedup: float) -> str:
    """When compiling pays.

    What the winner does in t seconds takes the baseline speedup * t: each second saves speedup - 1.
    """
    return (
        f"Compiling takes {number(extra_s, 2)} s more than the baseline's warm-up and has paid "
        f"for itself after {clock(extra_s / (speedup - 1))} of training."
    )


def _contributions(contributions: tuple[Contribution, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading in ("setting", "value", "default", "brings", ""):
        table.add_column(heading, justify="right" if heading == "brings" else "left")
    for contribution in contributions:
        table.add_row(*_contribution_cells(contribution), style="" if contribution.kept else "dim")
    return table


def _contribution_cells(c: Contribution) -> list[str]:
    brings = f"{times(c.ratio.value)} {_interval(c.ratio)}"
    return [c.setting, written(c.value), written(c.default), brings, "" if c.kept else "dropped"]


def _hanging(head: str, text: str) -> Table:
    """`text` beside `head`, its further lines under its first."""
    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(Text(head, style="bold"), Text(text))
    return grid
