"""Of which kind a folder is, a study's or a full run's, by the config that lies in it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from conf.fault import Fault
from conf.hand_on import run_words
from conf.sources import ConfigFile, read, shown
from hotlap.frozen import whose_config

GOES_ON = {"config": "a study", "train": "a full run"}
"""With what each script goes on."""

MOST = 5
"""So many folders are listed."""


def other_kind(kind: str, file: ConfigFile) -> Fault | None:
    """What is wrong if the folder of a config is the other script's.

    Args:
        kind: `config` (tune.py is to go on) or `train`.
        file: The config in the folder that was named.
    """
    folder = file.path.parent
    if whose_config(file.lines) in (GOES_ON[kind], ""):
        return None
    if kind == "config":
        return Fault(
            what=f"{shown(folder)} is the folder of a full run, not of a study",
            where=f"command line: resume={shown(folder)}",
            right="train.py goes on with a full run, tune.py with a study",
            cure=shlex.join(["python", "train.py", f"resume={shown(folder)}"]),
            key="resume",
        )
    frozen = folder / "frozen.yaml"
    train = ""
    if frozen.exists():
        train = f"; to train with what it froze: {_full_run(file.values, frozen)}"
    return Fault(
        what=f"{shown(folder)} is the folder of a study, not of a full run",
        where=f"command line: resume={shown(folder)}",
        right=f"tune.py goes on with a study, train.py with a full run{train}",
        cure=shlex.join(["python", "tune.py", f"resume={shown(folder)}"]),
        key="resume",
    )


def within(folder: Path, kind: str) -> list[Path]:
    """The folders of a kind that lie right in this one, the latest first, some at the most."""
    found: list[Path] = []
    for path in sorted(folder.glob("*/config.yaml"), reverse=True):
        if len(found) < MOST and _whose(path) == GOES_ON[kind]:
            found.append(path.parent)
    return found


def _whose(path: Path) -> str:
    try:
        return whose_config(read(path, "config", "").lines)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError):
        return ""  # it is none to go on with


def _full_run(values: Mapping[str, Any], frozen: Path) -> str:
    words = [str(word) for word in values.get("words") or []]
    if script := run_words(words):
        return shlex.join(["python", "-m", "hotlap", "run", "--settings", shown(frozen), *script])
    words = words or ["+model=<name>"]
    return shlex.join(["python", "train.py", *words, f"settings={shown(frozen)}"])
