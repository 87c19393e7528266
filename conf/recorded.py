"""Recorded tables: what `record=` writes of its study, and what a study on one takes from there."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from conf.fault import Fault
from conf.literal import literal
from conf.merge import merge
from conf.sources import SUBJECT
from conf.words import as_typed
from hotlap.programs import python
from hotlap.settings import Settings
from runners.table import told
from runners.table_check import lines_of

if TYPE_CHECKING:
    from conf.schema import TuneConfig
    from hotlap.job import Job
    from search_spaces import Space

OF_SCRIPT = ("target", "args", "override", "cwd")
"""What makes a script the same one: which file, with what, what wins over it, and where."""

TRIED = ("choices", "low", "high", "step", "log", "when", "numerics")
"""Parts of a knob that count: what it requires was known on the machine that recorded it."""


def is_replay(config: Any) -> bool:
    """Whether trials come from a table."""
    return bool(config.runner.name == "replay")


def header(
    config: TuneConfig, name: str, job: Job, space: Space, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """What a recorded table says of its trials in its first line (docs/tables.md)."""
    workload: dict[str, Any] = {"name": name, "words": config.words}
    if job.script is None:
        workload |= {"function": job.workload, "args": job.args}
    else:
        workload["script"] = {part: job.script[part] for part in OF_SCRIPT}
    return {
        "workload": workload,
        "settings": space.base.to_dict(),
        "space": {knob.name: tried(knob.to_mapping()) for knob in space.knobs},
        "window": vars(job.window),
        "facts": {fact: value for fact, value in facts.items() if fact != "budget_s"},
    }


def fill(
    config: DictConfig, overrides: Sequence[Override], models: Sequence[str]
) -> tuple[DictConfig, list[Fault]]:
    """The config with the table's workload, baseline and space in it, and what is wrong.

    Args:
        config: A study's, composed.
        overrides: What was typed.
        models: Names of the models chosen there.
    """
    path = None if OmegaConf.is_missing(config.runner, "table") else config.runner.table
    if not path:
        OmegaConf.update(config, "runner.table", None)
        return config, [_no_table()]
    file = Path(path).expanduser().resolve()
    config.runner.table = str(file)
    lines, faults = lines_of(file)
    first = first_line(config)
    if faults:
        return config, [_damaged(str(path), faults)]
    header = lines[0]
    workload = header["workload"]
    name = str(workload["name"])
    found = [_not_here(o) for o in overrides if o.key_or_group.partition(".")[0] in SUBJECT[1:]]
    found += [_another_model(model, name) for model in models if model != name]
    config.model = {**workload.get("args", {}), "workload": workload.get("function", name)}
    config.data = {}
    config.script = config.module = None
    config.settings = vars(Settings.from_dict(header.get("settings", {})))
    config.search_space = {}
    for knob, definition in header["space"].items():
        config, more = merge(config, tried(definition), lambda _: first, ("search_space", knob))
        found += in_table(more, first)
    config.name = name
    config.words = literal(workload.get("words", ()))
    return config, found


def first_line(config: Any) -> str:
    """Where the table says what it was recorded with."""
    return f"{config.runner.table}:1"


def in_table(faults: Iterable[Fault], first: str) -> list[Fault]:
    """The `faults`, those of the table's `first` line with what to write there: typing won't do."""
    return [
        replace(fault, cure=f"the first line of the table anew, with {_in_line(fault)}")
        if fault.where == first
        else fault
        for fault in faults
    ]


def _in_line(fault: Fault) -> str:
    """What is to be typed elsewhere, by the names that the table has for it."""
    return fault.cure.replace("search_space", "space", 1)


def tried(knob: Mapping[str, Any]) -> dict[str, Any]:
    """What a table says of a knob: the parts of it that count and say something."""
    parts = {key: knob[key] for key in TRIED if knob.get(key) not in (None, [], False)}
    if "choices" in parts:
        parts.pop("step", None)
    if "when" in parts:
        parts["when"] = {key: value for key, value in parts["when"].items() if value is not None}
    return parts


def _no_table() -> Fault:
    return Fault(
        what="runner=replay plays a recorded table, and none is named",
        where="command line: runner=replay",
        right="a table that `record=` has written (docs/tables.md)",
        cure="runner.table=table.jsonl",
        key="runner.table",
    )


def _damaged(path: str, faults: Sequence[str]) -> Fault:
    return Fault(
        what=f"runner.table is no table that could be played:\n    {told(faults)}",
        where=f"command line: runner.table={path}",
        right="the format of docs/tables.md",
        cure=shlex.join([python(), "-m", "runners.table_check", path]),
        key="runner.table",
    )


def _not_here(override: Override) -> Fault:
    line = as_typed(override)
    return Fault(
        what=f"'{line}' would change what the table has recorded",
        where=f"command line: {line}",
        right="beside runner=replay: budget, sampler, pruner, window, confirm, objective, numerics",
        cure=f"the command without {line}",
        key=override.key_or_group,
    )


def _another_model(model: str, name: str) -> Fault:
    return Fault(
        what=f"the table was recorded with {name}, not with {model}",
        where=f"command line: +model={model}",
        right="a replay needs no model; the table names its own",
        cure="the command without +model",
        key="model",
    )
