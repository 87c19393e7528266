"""A study goes on only where it began: rates of two machines say nothing about each other.

Nor do those of two versions of torch or of the driver. The result, the frozen file and the bank
would name the one that the study began with.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conf.fault import Fault
from conf.sources import shown
from search_spaces.hardware import machine_facts
from search_spaces.torch_build import torch_build

HARDWARE = ("the CPU was", "the usable cores were", "the visible GPUs were")
"""What makes it another machine; all else that is compared is what was installed on it."""


def another_machine(folder: Path, words: Sequence[str]) -> Fault | None:
    """What is wrong if the study in `folder` was begun on a machine of another kind.

    Or with another torch, CUDA or driver.

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
    here = {**machine_facts(), **torch_build()}
    before, now = _kind(then, then), _kind(here, then)
    differing = {
        name: f"{name} {value} then and {now[name]} here"
        for name, value in before.items()
        if value != now[name]
    }
    if not differing:
        return None
    moved = [name for name in differing if name in HARDWARE]
    where = ["on another machine"] if moved else []
    where += ["with other versions"] if len(differing) > len(moved) else []
    return Fault(
        what=f"the study was begun {' and '.join(where)}: {'; '.join(differing.values())}",
        where=f"command line: resume={shown(folder)}",
        right="all trials of a study run on machines of one kind, with the same torch and the same "
        "driver, else they cannot be compared; it goes on where these are as they were",
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
    """What must be alike, in words; the GPUs only where the study uses one.

    Of the versions those that the study knows: where no GPU was seen its torch said nothing of
    CUDA, and where its device is none the driver does not matter.
    """
    gpus = [str(gpu["name"]) for gpu in machine.get("gpus", ())]
    alike = {"the CPU was": machine.get("cpu"), "the usable cores were": machine.get("cores")}
    versions = {"torch was": "torch", "CUDA was": "cuda"}
    if str(study.get("device", "")).startswith("cuda"):
        alike["the visible GPUs were"] = ", ".join(gpus) or "none"
        versions["the NVIDIA driver was"] = "nvidia_driver"
    alike |= {words: machine.get(name) for words, name in versions.items() if study.get(name)}
    return {name: "none" if value is None else str(value) for name, value in alike.items()}
