"""The compared arms as tables: what each reached, and what its two sides can do alone."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from hotlap.measurement import Rate
from hotlap.spoken import MISSING, UNKNOWN, interval, percent
from reports.arm import Arm
from reports.result import Result
from reports.text import duration, milliseconds, number, size, times


def arms_table(result: Result, wide: bool) -> Table:
    """A row for each arm; `wide` puts a number and its interval on one line."""
    table = plain_table()
    table.title = Text(result.workload, style="bold")
    table.title_justify = "left"
    table.add_column("", no_wrap=True)
    for heading in headings(result):
        table.add_column(heading if wide else heading.replace(" ", "\n"), justify="right")
    for name, arm in result.arms.items():
        style = "bold green" if name == "winner" else ""
        table.add_row(name, *cells(result, arm, " " if wide else "\n"), style=style)
    return table


def sides_table(result: Result) -> Table | None:
    """What the loader and the model can do alone; None if that was not measured."""
    rows = side_rows(result)
    if not rows:
        return None
    table = plain_table()
    table.add_column("", no_wrap=True)
    for heading in SIDE_HEADINGS:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def headings(result: Result) -> list[str]:
    """Of the columns after the arm's name."""
    rates = ["run time", "samples/s"] if _of_run_time(result) else ["samples/s"]
    return [*rates, "speedup", "step", "data wait", "peak host", "peak device"]


def cells(result: Result, arm: Arm, separator: str) -> list[str]:
    """One row: a number and its interval are parted by `separator`."""
    rate = number(arm.rate.value)
    rates = [f"{rate}{separator}{_interval_of(arm.rate)}"]
    if _of_run_time(result):  # what is compared is the time; its interval stands in the sentence
        rates = [duration(arm.run_time.value) if arm.run_time else MISSING, rate]
    speedup = "1.00x" if arm is result.baseline else MISSING
    if (ratio := arm.speedup) is not None:
        speedup = f"{times(ratio.value)}{separator}{interval(ratio)}"
    memory = [size(arm.peak_host_bytes), size(arm.peak_device_bytes)]
    return [*rates, speedup, milliseconds(arm.step_time_s), percent(arm.data_wait_share), *memory]


SIDE_HEADINGS = ("together", "loader alone", "model alone", "stalled")
"""Samples per second three times, and the share of the model's speed that is lost by waiting."""


def side_rows(result: Result) -> list[list[str]]:
    """Name and the columns of SIDE_HEADINGS, for each arm of which a side was measured."""
    return [
        [
            name,
            *map(_rate, (arm.together or arm.rate, arm.loader, arm.compute)),
            percent(arm.stall_share),
        ]
        for name, arm in result.arms.items()
        if arm.loader or arm.compute
    ]


def plain_table() -> Table:
    """A table with a line under its head and nothing else."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)


def _of_run_time(result: Result) -> bool:
    return any(arm.run_time for arm in result.arms.values())


def _rate(rate: Rate | None) -> str:
    return number(rate.value) if rate else MISSING


def _interval_of(rate: Rate) -> str:
    return f"[{number(rate.low)}, {number(rate.high)}]" if rate.known else f"({UNKNOWN})"
