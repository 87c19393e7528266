"""Checking `record=`: a table of every settings value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conf.fault import Fault
from conf.place import is_folder
from conf.recorded import is_replay
from conf.schema import TuneConfig
from conf.sources import Sources
from conf.unwritable import no_file


def faults(config: TuneConfig, sources: Sources) -> Iterator[Fault]:
    """All that does not fit a recording; nothing if none is asked for."""
    if config.record is None:
        return
    if not config.record or is_folder(config.record):
        yield sources.fault(
            "record",
            what=f"record is '{config.record}', not the name of a file",
            right="the table to write, or to go on with",
            cure=f"record={Path(config.record) / 'table.jsonl'}",
        )
    elif reason := _unfit(config.record):
        yield sources.fault(
            "record",
            what=f"record is '{config.record}', and {reason}",
            right="a file, in a folder that is there or can be made",
            cure="record=table.jsonl",
        )
    if is_replay(config):
        yield sources.fault(
            "runner",
            what="record= would record trials that are only played",
            right="trials on this machine",
            cure="runner=process",
            key="record",
        )
    if config.sampler.name != "brute_force":
        yield sources.fault(
            "sampler",
            what=f"record= measures every settings value, and the sampler is {config.sampler.name}",
            right="the sampler that walks the whole space",
            cure="sampler=brute_force",
            key="record",
        )
    if "budget" in sources.typed:
        yield sources.fault(
            "budget",
            what="record= takes as long as the space needs, and a budget is given",
            right="a number of trials for this session; the same command goes on with the rest",
            cure="n_trials=50 instead of budget=",
            key="record",
        )


def _unfit(path: str) -> str:
    """Why no table can be recorded at `path`; empty if it can."""
    if path.endswith(".gz"):
        return "lines are added to a table while it is recorded; pack it afterwards, with gzip"
    return no_file(path)
