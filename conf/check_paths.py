"""Checking the places where a study is to write: told now, not when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conf.fault import Fault
from conf.place import is_folder
from conf.schema import Common, TuneConfig
from conf.sources import Sources
from conf.unwritable import no_file, nothing_in


def faults(config: Common, sources: Sources) -> Iterator[Fault]:
    """All places that cannot be written, and names that are no names."""
    yield from _bank(config.bank.path, sources)
    if isinstance(config, TuneConfig) and config.freeze is not None:
        yield from _freeze(config.freeze, sources)
    if getattr(config, "resume", None) is None and (reason := nothing_in("outputs")):
        yield Fault(
            what=f"results go into outputs/, and {reason}",
            where=f"the current folder, {Path.cwd()}",
            right="a folder of your own",
            cure="cd <folder>, then the same command",
        )


def _bank(path: str | None, sources: Sources) -> Iterator[Fault]:
    if path is None:
        return
    reason = ""
    # A folder that is there may be one that others fill: what it holds still counts.
    if not path.strip() or (reason := nothing_in(path)) and not is_folder(path):
        yield sources.fault(
            "bank.path",
            what=f"bank.path is '{path}', "
            + (f"and {reason}" if reason else "not the name of a folder"),
            right="the folder of the bank; it is made if it is not there",
            cure="bank.path=bank, or bank=none to go without",
        )


def _freeze(path: str, sources: Sources) -> Iterator[Fault]:
    if not path or is_folder(path):
        yield sources.fault(
            "freeze",
            what=f"freeze is '{path}', not the name of a file",
            right="the YAML file to write",
            cure=f"freeze={Path(path) / 'frozen.yaml'}",
        )
    elif reason := no_file(path):
        yield sources.fault(
            "freeze",
            what=f"freeze is '{path}', and {reason}",
            right="the YAML file to write, in a folder that is there or can be made",
            cure="freeze=frozen.yaml",
        )
