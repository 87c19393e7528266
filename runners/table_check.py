"""Says what is wrong with a recorded table, line by line.

    python -m runners.table_check table.jsonl

docs/tables.md has the format.
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hotlap.settings import Settings
from hotlap.settings import faults as setting_faults
from runners.protocol import FAILED
from runners.table_space import outside, resolved
from runners.table_values import (
    BLOCK,
    DEPTH,
    LEAST,
    MOST,
    ROW,
    brief,
    header_faults,
    is_number,
    is_positive,
    too_deep,
    wrong,
)

FORMAT = 1
"""Version of the format; it grows when a key changes its meaning or goes away."""

PACKED = ".gz"
"""A table whose name ends so is packed by gzip: to a tenth, for one that is kept."""

OUTCOMES = ("ok", *FAILED)


def lines_of(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The lines of the table at `path` as plain data, header first, and what is wrong with it.

    Faults read `table.jsonl:7: ...`; lines that are no JSON objects are left out.
    """
    try:
        raw_text = path.read_bytes()
        text = (gzip.decompress(raw_text) if path.suffix == PACKED else raw_text).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        return [], [f"{path}: it cannot be read ({error}); a table is a text file of JSON lines"]
    lines: list[dict[str, Any]] = []
    found: list[str] = []
    header: dict[str, Any] = {}  # once it is known to be right
    # Not by splitlines: a text in a line may hold what ends a line for Unicode.
    for number, raw in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        line = _object(raw)
        if line is None:
            found.append(f"{path}:{number}: {_no_object(raw, text, number)}")
            continue
        faults = list(_header(line) if number == 1 else _row(line))
        if number == 1 and not faults:
            header = line
        elif header and not faults:
            faults = list(outside(line, header))
        found += [f"{path}:{number}: {fault}" for fault in faults]
        lines.append(line)
    if not found:
        found += [f"{path}: {fault}" for fault in _whole(lines)]
    if not found:
        header["space"] = resolved(lines)
    return lines, found


def header_of(path: Path) -> dict[str, Any]:
    """The first line of the table that is being recorded at `path`; empty if there is none yet.

    What else may lie there is told by whoever goes on with it (runners/table_writer.py).
    """
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        line = _object(file.readline().decode(errors="replace"))
    return {} if line is None or any(_header(line)) else line


def _object(raw: str) -> dict[str, Any] | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and not too_deep(line) else None


def _no_object(raw: str, text: str, number: int) -> str:
    if number > text.count("\n"):
        return (
            "the line is cut off, as a killed recorder leaves it; delete it, or go on with the "
            "same record= command, which drops it"
        )
    return (
        f"no JSON object: {raw[:40]!r}; each line is one, as in {{...}}, in UTF-8 and not nested "
        f"deeper than {DEPTH} levels"
    )


def _header(line: Mapping[str, Any]) -> Iterator[str]:
    if line.get("table") != FORMAT:
        yield (
            f"table is {line.get('table')!r}; the first line describes the table and begins "
            f'{{"table": {FORMAT}, ...'
        )
    try:
        json.dumps(line, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        yield f"there is half a character, {error.object[error.start]!r}; write it whole"
    yield from header_faults(line)


def _row(line: Mapping[str, Any]) -> Iterator[str]:
    settings = line.get("settings")
    if isinstance(settings, dict):
        yield from setting_faults(settings).values()
    else:
        yield f'settings is {brief(settings)}; write them by name: {{"num_workers": 2, ...}}'
    outcome = line.get("outcome")
    if outcome not in OUTCOMES:
        yield f"outcome is {brief(outcome)}; it is one of {', '.join(OUTCOMES)}"
    yield from wrong(line, ROW)
    for key in ("warmup_blocks", "blocks"):
        blocks = line.get(key, [])
        if not isinstance(blocks, list):
            yield f"{key} is {brief(blocks)}; write a list of blocks"
            continue
        for i, block in enumerate(blocks):
            yield from _block(block, f"{key}[{i}]")
        if key == "blocks" and outcome == "ok" and not blocks:
            yield "blocks is empty; an ok trial has at least one"


def _block(block: Any, at: str) -> Iterator[str]:
    if not isinstance(block, dict):
        yield f"{at} is {brief(block)}; write steps, samples, seconds and data_wait_s"
        return
    for key in ("steps", "samples", "seconds"):
        value: Any = block.get(key)
        if not is_positive(value):
            beyond = isinstance(value, (int, float)) and (value > MOST or 0 < value < LEAST)
            takes = f"from {LEAST:g} to {MOST:g}" if beyond else "above 0"
            yield f"{at} has {key} {brief(value)}; it is a number {takes}"
            return
    wait = block.get("data_wait_s", 0.0)
    if not is_number(wait) or not 0 <= wait <= block["seconds"] * 1.001:
        yield f"{at} has data_wait_s {brief(wait)}; it lies between 0 and the block's seconds"
    yield from wrong(block, BLOCK, f"{at}.")


def _whole(lines: list[dict[str, Any]]) -> Iterator[str]:
    """What no line is guilty of alone."""
    if not lines:
        yield "it is empty; make one with `python tune.py +model=... sampler=brute_force record=`"
        return
    base = Settings.from_dict(lines[0].get("settings", {}))
    ok = [Settings.from_dict(line["settings"]) for line in lines[1:] if line["outcome"] == "ok"]
    if all(settings.key() != base.key() for settings in ok):
        yield (
            "no ok line has the settings of the first line, the baseline, with which every study "
            "begins; add a line for them"
        )


def main(argv: list[str]) -> int:
    """Print what is wrong with the tables named in `argv`; 2 if anything is."""
    if not argv:
        print("name a table: python -m runners.table_check table.jsonl", file=sys.stderr)
        return 2
    code = 0
    for name in argv:
        lines, found = lines_of(Path(name))
        print("\n".join(found) if found else f"{name}: {len(lines) - 1} lines, nothing is wrong")
        code = 2 if found else code
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
