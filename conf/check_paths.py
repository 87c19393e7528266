"""Checking the places where a study is to write: told now, not when it ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from conf.fault import Fault
from conf.place import bank_folder, is_folder, place_of
from conf.recorded import is_replay
from conf.schema import Common, TuneConfig
from conf.sources import Sources
from conf.unwritable import no_file, nothing_in


def faults(config: Common, sources: Sources) -> Iterator[Fault]:
    """All places that cannot be written, and names that are no names."""
    yield from _bank(config, sources)
    if isinstance(config, TuneConfig) and config.freeze is not None:
        yield from _freeze(config.freeze, sources)
    resume = getattr(config, "resume", None)
    if resume is not None:
        yield from _resume(resume, sources)
    elif reason := nothing_in("outputs"):
        yield Fault(
            what=f"results go into outputs/, and {reason}",
            where=f"the current folder, {Path.cwd()}",
            right="a folder of your own",
            cure="cd <folder>, then the same command",
        )


def overwritten(sweep: Sequence[tuple[Common, Sources]]) -> Iterator[Fault]:
    """The files that several studies of a sweep would freeze into; given are those of all."""
    writers: dict[Path, list[tuple[Common, Sources]]] = defaultdict(list)
    for config, sources in sweep:
        if path := _written(config):
            writers[path].append((config, sources))
    for several in writers.values():
        if len(several) > 1:
            names = {config.name for config, _ in several}
            _, sources = several[0]
            yield sources.fault(
                "freeze",
                what="freeze names the same file for several studies of the sweep, and each would "
                "overwrite what the one before has frozen",
                right="a file for each, or none: each study's own folder has its frozen.yaml",
                cure="freeze='${name}.yaml'" if len(names) == len(several) else "freeze=null",
            )


def _written(config: Common) -> Path | None:
    """The file that `freeze` names; None for none, or for no file at all, which is told."""
    freeze = getattr(config, "freeze", None)
    try:
        return place_of(freeze).resolve() if freeze else None
    except (OSError, ValueError, RuntimeError):
        return None


def _resume(path: str, sources: Sources) -> Iterator[Fault]:
    """It goes on where it began; a checkpoint's path stands for its folder."""
    # Whether there is anything to go on with is not asked here.
    folder = path if is_folder(path) else str(Path(path).parent)
    if reason := nothing_in(folder):
        yield sources.fault(
            "resume",
            what=f"resume is '{path}', and {reason}",
            right="a folder in which it can go on writing: a copy of it, for one",
            cure="cp -r <that folder> <a folder of yours>, then resume=<the copy>",
        )


def _bank(config: Common, sources: Sources) -> Iterator[Fault]:
    path = config.bank.path
    what = _no_home(config) if path is None else _no_folder(path)
    if what:
        yield sources.fault(
            "bank.path",
            what=what,
            right="a folder for the bank; it is made if it is not there",
            cure="bank.path=bank, or bank=none to go without",
        )


def _no_folder(path: str) -> str:
    """What is wrong with the bank's path; empty if nothing is."""
    if not path.strip():
        return f"bank.path is '{path}', not the name of a folder"
    reason = nothing_in(path)
    # A folder that is there may be one that others fill: what it holds still counts.
    return f"bank.path is '{path}', and {reason}" if reason and not is_folder(path) else ""


def _no_home(config: Common) -> str:
    """The usual bank is in the home folder, which not everybody has; empty if there is one.

    Replays and recordings have no bank.
    """
    if is_replay(config) or getattr(config, "record", None):
        return ""
    try:
        bank_folder(config.bank.name, None)
    except RuntimeError as error:
        return f"the bank is in the home folder, and there is none ({error})"
    return ""


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
