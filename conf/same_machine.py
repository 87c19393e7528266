"""A study goes on only where it began: rates of two machines say nothing about each other."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conf.fault import Fault
from conf.sources import shown
from search_spaces.hardware import machine_facts


def another_machine(folder: Path, words: Sequence[str]) -> Fault | None:
    """What is wrong if the study in `folder` was begun on a machine of another kind.

    Args:
        folder: The study's.
        words: The overrides that begin such a study.
    """
    path = folder / "facts.json"
    try:
        then = json.loads(path.read_text(encoding="utf-8"))
    except OSError:  # it has none yet
        return None
    except (ValueError, RecursionError) as error:
        return _damaged(path, str(error))
    if not isinstance(then, dict) or not _are_gpus(then.get("gpus", [])):
        return _damaged(
            path, "it is no mapping of names to values, or its gpus are no list of GPUs"
        )
    here = machine_facts()
    before, now = _kind(then, then), _kind(here, then)
    differing = [
        f"{name} {value} then and {now[name]} here"
        for name, value in before.items()
        if value != now[name]
    ]
    if not differing:
        return None
    return Fault(
        what=f"the study was begun on another machine: {'; '.join(differing)}",
        where=f"command line: resume={shown(folder)}",
        right="all trials of a study run on machines of one kind, else they cannot be compared",
        cure=f"{shlex.join(words)}, without resume=, for a study of its own here",
        key="resume",
    )


def _are_gpus(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(g, dict) and "name" in g for g in value)


def _damaged(path: Path, why: str) -> Fault:
    return Fault(
        what=f"{shown(path)}, what the study knows of its machine, is damaged: {why}",
        where=shown(path),
        right="the file that the study wrote; without it the facts are asked for anew",
        cure=f"rm {shlex.quote(shown(path))}",
        key="resume",
    )


def _kind(machine: Mapping[str, Any], study: Mapping[str, Any]) -> dict[str, str]:
    """What must be alike, in words; the GPUs only where the study uses one."""
    gpus = [str(gpu["name"]) for gpu in machine.get("gpus", ())]
    alike = {"the CPU was": machine.get("cpu"), "the usable cores were": machine.get("cores")}
    if str(study.get("device", "")).startswith("cuda"):
        alike["the visible GPUs were"] = ", ".join(gpus) or "none"
    return {name: str(value) for name, value in alike.items()}
