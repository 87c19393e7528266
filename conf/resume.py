"""`resume=<folder>`: the config of a study or full run comes from its own folder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import yaml
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from conf.assemble import assemble
from conf.choices import chooses
from conf.fault import Fault
from conf.folder_kind import other_kind, within
from conf.merge import merge
from conf.overrides import apply
from conf.place import place_of
from conf.recorded import is_replay
from conf.same_machine import another_machine
from conf.schema import TrainConfig, TuneConfig
from conf.session import Session
from conf.sources import ConfigFile, read, shown
from conf.words import as_typed

MAY_CHANGE = {
    "config": ("budget", "n_trials", "confirm.max_rounds", "tracking", "freeze"),
    "train": (
        *("epochs", "max_steps", "checkpoint_every_s", "tracking", "settings"),
        *("data.root", "data.path"),
    ),
}
"""What may be given anew beside resume=, by script: how long to go on, and where results go.

A full run may have other settings, too, for they change nothing of what is learned, and its
samples may have moved.
"""


def resumed(
    session: Session, typed: str, overrides: Sequence[Override]
) -> tuple[DictConfig | None, list[ConfigFile], list[Fault]]:
    """The config of the study or full run in a folder, with the `overrides` that it still allows.

    There is none if the folder holds none. An option of a group takes the place of all that the
    folder says of the group, a single value that of its own key. A full run may be named by one of
    its checkpoints: its config comes from the folder, and it goes on from this file. A study has
    only its folder.
    """
    try:
        place = place_of(typed)
        folder = place.parent if place.is_file() else place
    except (OSError, ValueError, RuntimeError) as error:
        return None, [], [_unreadable(Path(typed), error, session.kind)]
    may_change = MAY_CHANGE.get(session.kind, MAY_CHANGE["config"])
    schema = TrainConfig if session.kind == "train" else TuneConfig
    config: DictConfig = OmegaConf.structured(schema)
    changes = [o for o in overrides if o.key_or_group != "resume"]
    allowed = [o for o in changes if _allowed_by(o, may_change)]
    faults = [_refused(o, folder, may_change) for o in changes if not _allowed_by(o, may_change)]
    path = folder / "config.yaml"
    try:
        file = read(path, "config", "")
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        return None, [], [*faults, _unreadable(folder, error, session.kind)]
    if fault := other_kind(session.kind, file):
        return None, [], [fault]  # what else is wrong is wrong for a folder of the other kind
    config, more = merge(config, file.values, file.where)
    faults += more
    words = OmegaConf.to_container(config.words, resolve=True)
    here = session.kind != "train" and not is_replay(config)
    if here and (fault := another_machine(folder, words)):
        faults.append(fault)
    choices = [o for o in allowed if chooses(o, session.groups)]
    given, chosen, more = assemble(session, choices)
    faults += more
    for group in {o.key_or_group for o in choices}:
        OmegaConf.update(config, group, OmegaConf.select(given, group), merge=False)
    settings: list[ConfigFile] = []
    if any(o.key_or_group == "settings" for o in choices):  # what was said of the others goes
        config.provenance, config.frozen = given.provenance, None
        settings = [one for one in chosen if one.group == "settings"]
    for override in allowed:
        if override not in choices:
            faults += apply(config, override, session.groups, set())
    # A checkpoint that is a link still belongs to the folder in which it was named.
    named = place.name if place != folder and session.kind == "train" else ""
    config.resume = str(folder.resolve() / named)
    return config, [file, *settings], faults


def _allowed_by(override: Override, may_change: Sequence[str]) -> str:
    """The key of `may_change` that the override lies in; empty if it lies in none."""
    given = f"{override.key_or_group}."
    return next((key for key in may_change if given.startswith(f"{key}.")), "")


def _refused(override: Override, folder: Path, may_change: Sequence[str]) -> Fault:
    line = as_typed(override)
    return Fault(
        what=f"'{line}' would change a study or run that is under way",
        where=f"command line: {line}",
        right=f"beside resume=, only {', '.join(may_change)} may be given",
        cure=f"resume={shown(folder)} alone, or {line} without resume= for a new one",
        key=override.key_or_group,
    )


def _unreadable(folder: Path, error: Exception, kind: str) -> Fault:
    path = folder / "config.yaml"
    where = shown(path)
    found: list[Path] = []
    if isinstance(error, yaml.YAMLError):
        what = f"no YAML: {error}"
    elif isinstance(error, UnicodeDecodeError):
        what = f"no text in UTF-8: {error}"
    else:
        where = f"command line: resume={folder}"
        missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        why = "no config.yaml in it" if missing else getattr(error, "strerror", None) or error
        what = f"{folder} holds nothing to go on with: {why}"
        found = within(folder, kind) if missing else []
    right = "the folder that a study or full run wrote; its last lines on the screen name it"
    cure = "resume=<that folder>"
    if found:
        right = f"one of the folders in it, the latest first: {', '.join(map(shown, found))}"
        cure = shlex.quote(f"resume={shown(found[0])}")
    return Fault(what=what, where=where, right=right, cure=cure, key="resume")
