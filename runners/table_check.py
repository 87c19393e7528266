"""Says what is wrong with a recorded table, line by line.

    python -m runners.table_check table.jsonl

docs/tables.md has the format.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hotlap.settings import Settings
from hotlap.settings import faults as setting_faults
from runners.protocol import FAILED

FORMAT = 1
"""Version of the format; it grows when a key changes its meaning or goes away."""

OUTCOMES = ("ok", *FAILED)

SECONDS = ("startup_s", "compile_s", "epoch_start_s", "warmup_s", "wall_s", "overhead_s", "end_s")


def lines_of(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The lines of the table at `path` as plain data, header first, and what is wrong with it.

    Faults read `table.jsonl:7: ...`; lines that are no JSON objects are left out.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return [], [f"{path}: it cannot be read ({error}); a table is a text file of JSON lines"]
    lines: list[dict[str, Any]] = []
    found: list[str] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = _object(raw)
        if line is None:
            found.append(f"{path}:{number}: {_no_object(raw, text, number)}")
            continue
        check = _header if number == 1 else _row
        found += [f"{path}:{number}: {fault}" for fault in check(line)]
        lines.append(line)
    if not found:
        found += [f"{path}: {fault}" for fault in _whole(lines)]
    return lines, found


def _object(raw: str) -> dict[str, Any] | None:
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _no_object(raw: str, text: str, number: int) -> str:
    if number == len(text.splitlines()) and not text.endswith("\n"):
        return (
            "the line is cut off, as a killed recorder leaves it; delete it, or go on with the "
            "same record= command, which drops it"
        )
    return f"no JSON object: {raw[:40]!r}; each line is one, as in {{...}}"


def _header(line: Mapping[str, Any]) -> Iterator[str]:
    if line.get("table") != FORMAT:
        yield (
            f"table is {line.get('table')!r}; the first line describes the table and begins "
            f'{{"table": {FORMAT}, ...'
        )
    workload = line.get("workload")
    if not isinstance(workload, dict) or not isinstance(workload.get("name"), str):
        yield f'workload is {workload!r}; write {{"name": "my_model"}} at the least'
    space = line.get("space")
    if not isinstance(space, dict) or not space:
        yield f'space is {space!r}; write each knob: {{"num_workers": {{"choices": [0, 2]}}, ...}}'
    else:
        for name, knob in space.items():
            if not isinstance(knob, dict) or not (knob.get("choices") or "low" in knob):
                yield f"space.{name} is {knob!r}; it takes choices, or low and high"
    yield from _mappings(line, ("settings", "facts", "window", "versions"))
    if isinstance(line.get("settings"), dict):
        yield from setting_faults(line["settings"]).values()
    yield from _seconds(line, ("setup_s",))


def _row(line: Mapping[str, Any]) -> Iterator[str]:
    settings = line.get("settings")
    if isinstance(settings, dict):
        yield from setting_faults(settings).values()
    else:
        yield f'settings is {settings!r}; write them by name: {{"num_workers": 2, ...}}'
    outcome = line.get("outcome")
    if outcome not in OUTCOMES:
        yield f"outcome is {outcome!r}; it is one of {', '.join(OUTCOMES)}"
    yield from _seconds(line, SECONDS)
    for key in ("warmup_blocks", "blocks"):
        blocks = line.get(key, [])
        if not isinstance(blocks, list):
            yield f"{key} is {blocks!r}; write a list of blocks"
            continue
        for i, block in enumerate(blocks):
            yield from (f"{key}[{i}] {fault}" for fault in _block(block))
        if key == "blocks" and outcome == "ok" and not blocks:
            yield "blocks is empty; an ok trial has at least one"


def _block(block: Any) -> Iterator[str]:
    if not isinstance(block, dict):
        yield f"is {block!r}; write steps, samples, seconds and data_wait_s"
        return
    for key in ("steps", "samples", "seconds"):
        if not _number(block.get(key)) or block[key] <= 0:
            yield f"has {key} {block.get(key)!r}; it is a number above 0"
            return
    wait = block.get("data_wait_s", 0.0)
    if not _number(wait) or not 0 <= wait <= block["seconds"] * 1.001:
        yield f"has data_wait_s {wait!r}; it lies between 0 and the block's seconds"


def _mappings(line: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        if not isinstance(line.get(key, {}), dict):
            yield f"{key} is {line[key]!r}; it maps names to values"


def _seconds(line: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        value = line.get(key)
        if value is not None and (not _number(value) or value < 0):
            yield f"{key} is {value!r}; it is a number of seconds from 0"


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


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
