"""The config groups and their options: the folders beside this file, and those of the user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent

SHARED = ("model", "data", "settings", "runner", "tracking", "bank")
GROUPS = {
    "config": (
        "model",
        "data",
        "search_space",
        "settings",
        "objective",
        "window",
        "runner",
        "sampler",
        "pruner",
        "tracking",
        "bank",
    ),
    "train": SHARED,
}
"""The groups of tune.py (its primary config is config.yaml) and of train.py (train.yaml)."""


def options(group: str, folders: Sequence[Path] = (HERE,)) -> list[str]:
    """Names of the options of `group` in all `folders`, sorted."""
    found = {path.stem for folder in folders for path in (folder / group).glob("*.yaml")}
    return sorted(found)


def all_groups(kind: str, folders: Sequence[Path]) -> dict[str, list[str]]:
    """Each group that can be chosen from, with its options; a user's own groups come last.

    A group of hotlap that this entry script does not have is left out.
    """
    known = {name for names in GROUPS.values() for name in names}
    names = list(GROUPS[kind])
    for folder in folders[1:]:
        for child in sorted(folder.iterdir()):
            if child.name not in known and child.name not in names and any(child.glob("*.yaml")):
                names.append(child.name)
    return {name: options(name, folders) for name in names}
