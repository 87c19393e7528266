"""Recorded tables as judges of a search: which ones can be, and what space they span."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conf.recorded import tried
from hotlap.errors import UserInputError
from runners.table import Table
from search_spaces import Knob, Space, active


def judging(paths: Sequence[Path]) -> list[Table]:
    """The tables at `paths`.

    Raises:
        UserInputError: There is none, one is damaged, or its baseline failed: each study begins
            with that one, and every speedup is divided by it.
    """
    if not paths:
        raise UserInputError(
            "there is no table to judge on; record some with `python -m benchmarks.record_tables`, "
            "or name one: docs/tables.md says how to make it"
        )
    return [judge(path) for path in paths]


def judge(path: Path) -> Table:
    """The table at `path`. Raises as `judging`."""
    table = Table.read(path)
    rows = table.of(table.base)
    failed = [row for row in rows if row.outcome != "ok"]
    if failed:
        raise UserInputError(
            f"{path} judges no search: its baseline ended as {failed[0].outcome} in {len(failed)} "
            f"of {len(rows)} lines, and every study begins with it; record it anew, or with a "
            "baseline that runs"
        )
    return table


def space_of(table: Table) -> Space:
    """The whole space of a table, as tune.py makes it."""
    knobs = [Knob.from_mapping(name, tried(knob)) for name, knob in table.header["space"].items()]
    return Space(active(knobs, table.header.get("facts", {}), base=table.base)[0], table.base)


def counted(table: Table) -> str:
    """How many settings it has, and of how many, if there are others in its space."""
    whole = space_of(table)
    part = whole.within(table.known)
    of = "" if part is whole else f" of the {whole.size}"
    return f"{part.size if of else len(table.known)}{of} settings"
