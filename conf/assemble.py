"""Assembling one job's config, with every mistake of its files and overrides found.

Hydra stops at the first mistake. So it composes the chosen files only, and each override of a value
is applied on its own. Files that do not compose are put together here once more, one by one: what
fits goes in, the rest is a fault each.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import yaml
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from conf.choices import choice_fault, chooses
from conf.fault import Fault
from conf.groups import GROUPS
from conf.merge import merge
from conf.overrides import apply
from conf.session import SCHEMAS, Session
from conf.sources import ConfigFile, shown
from conf.words import RAW, as_typed
from hotlap.frozen import compose

UNREADABLE = (UnicodeDecodeError, OSError)
"""What Hydra lets through of a file that is no text in UTF-8, or not this user's to read."""

HYDRAS = (HydraException, OmegaConfBaseException, yaml.YAMLError, *UNREADABLE)
"""What Hydra raises for a config that is wrong."""


def assemble(
    session: Session, overrides: Sequence[Override]
) -> tuple[DictConfig, list[ConfigFile], list[Fault]]:
    """The config that `overrides` ask for, its files, and what is wrong with either."""
    faults, choices, values = [], [], []
    for override in overrides:
        if override.is_hydra_override():
            faults.append(_without_effect(override))
        elif not chooses(override, session.groups):
            values.append(override)
        elif fault := choice_fault(override, session.groups) or _not_in_full(session, override):
            faults.append(fault)
        else:
            choices.append(override)
    config, files, more = _chosen(session, choices)
    faults += more
    known = {*GROUPS["config"], *(name for kind in SCHEMAS.values() for name in _fields(kind))}
    others = known - set(session.groups) - {str(key) for key in config}
    script = next((as_typed(o) for o in values if o.key_or_group in RAW), "")
    for override in values:
        faults += apply(config, override, session.groups, others, script)
    return config, files, faults


def _without_effect(override: Override) -> Fault:
    """A setting of Hydra's own would be taken in silence: no job of Hydra's runs here."""
    key = str(override.key_or_group)
    return Fault(
        what=f"{key} has no effect here",
        where=f"command line: {override.input_line}",
        right="none of Hydra's own settings: results go to outputs/<name>/<time> in the working "
        "folder, --config-dir FOLDER adds options, -m runs one study after another",
        cure=f"the command without {override.input_line}",
        key=key,
    )


def _not_in_full(session: Session, override: Override) -> Fault | None:
    """An option of `settings` with aliases: Hydra would write out all that they stand for."""
    if override.key_or_group != "settings":
        return None
    path = session.find(f"settings/{override.value()}")
    if path is None:
        return None
    try:
        compose(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        return _as_hydra_says(error, shown(path), "settings")
    except UNREADABLE:  # told with the other files
        return None
    return None


def _chosen(
    session: Session, choices: Sequence[Override]
) -> tuple[DictConfig, list[ConfigFile], list[Fault]]:
    """What the chosen files say together."""
    words = [o.input_line or "" for o in choices]
    try:
        return session.compose(words), session.files(words), []
    except HYDRAS as error:
        config, files, faults = _file_by_file(session, choices)
        return config, files, faults or [_told(session, error, "command line")]


def _file_by_file(
    session: Session, choices: Sequence[Override]
) -> tuple[DictConfig, list[ConfigFile], list[Fault]]:
    broken = {o.input_line or "": _file_fault(session, o) for o in choices}
    faults = [fault for fault in broken.values() if fault]
    files: list[ConfigFile] = []
    try:
        files = session.files([word for word, fault in broken.items() if not fault])
    except HYDRAS as error:
        faults.append(_told(session, error, "command line"))
    config: DictConfig = OmegaConf.structured(SCHEMAS[session.kind])
    for file in files:
        config, more = merge(config, file.values, file.where)
        faults += more
    OmegaConf.set_struct(config, True)
    return config, files, faults


def _file_fault(session: Session, override: Override) -> Fault | None:
    """What is wrong with a file that is chosen, when it is chosen alone."""
    try:
        session.files([override.input_line or ""])
    except HYDRAS as error:
        path = session.find(f"{override.key_or_group}/{override.value()}")
        where = shown(path) if path else f"command line: {override.input_line}"
        return _told(session, error, where, override.key_or_group)
    return None


def _told(session: Session, error: Exception, where: str, key: str = "") -> Fault:
    if isinstance(error, UNREADABLE) and (fault := _unreadable(session, key)):
        return fault
    return _as_hydra_says(error, where, key)


def _unreadable(session: Session, key: str) -> Fault | None:
    """The first config file that cannot be read: Hydra does not say which one it was."""
    for path in (path for folder in session.folders for path in sorted(folder.rglob("*.yaml"))):
        try:
            if path.is_file():
                path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            return Fault(
                what=f"this file is no text in UTF-8: {error}",
                where=shown(path),
                right="UTF-8, as any editor can save it",
                cure=f"iconv -f ISO-8859-1 -t UTF-8 {shlex.quote(shown(path))} > <the new file>",
                key=key,
            )
        except OSError as error:
            return Fault(
                what=f"this file cannot be read: {error.strerror}",
                where=shown(path),
                right="a file that you may read",
                cure=f"chmod u+r {shlex.quote(shown(path))}, or another name",
                key=key,
            )
    return None


def _as_hydra_says(error: Exception, where: str, key: str = "") -> Fault:
    """Hydra's own sentence, where we have none of our own."""
    mark = getattr(error, "problem_mark", None)
    if isinstance(error, yaml.YAMLError) and mark is not None:
        file = shown(Path(mark.name)) if Path(mark.name).is_file() else where
        return Fault(
            what=f"this is no YAML: {getattr(error, 'problem', None) or error}",
            where=f"{file}, line {mark.line + 1}",
            right="key: value, with the same blanks before the keys of one level",
            cure="the line again, with its colon, brackets and quotes closed",
            key=key,
        )
    lines = [line.strip() for line in str(error.__cause__ or error).splitlines() if line.strip()]
    return Fault(
        what=lines[0] if lines else type(error).__name__,
        where=where,
        right=" ".join(lines[1:]) or "a config that Hydra can compose",
        cure="--help for the groups and their options",
        key=key,
    )


def _fields(kind: type) -> list[str]:
    return list(getattr(kind, "__dataclass_fields__", {}))
