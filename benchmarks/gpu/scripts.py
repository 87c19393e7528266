"""A script with settings imposed on it, to its end: trials are over before its first evaluation."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu.check import Check, Verdict, failed, passed, skipped
from benchmarks.machine import ROOT

SCRIPT = "benchmarks.gpu.own_loop"
LAST_LINES = 3


@dataclass(frozen=True)
class Imposed:
    """Settings for the script.

    Attributes:
        settings: As in a frozen file.
        capability: The first NVIDIA compute capability that can do it.
        tolerance: By this share losses may differ from the plain script's.
        cuda: Whether it means anything on CUDA alone.
    """

    settings: Mapping[str, Any]
    capability: tuple[int, int]
    tolerance: float
    cuda: bool = False


KINDS = (
    Imposed({"sdpa_backend": "flash", "amp": "bf16"}, (8, 0), 0.05),
    Imposed({"compile_mode": "reduce-overhead"}, (7, 0), 0.01, cuda=True),
)


class ScriptFailed(Exception):
    """The script did not end well; the text is what it said at last."""


def checks(folder: Path, device: str) -> list[Check]:
    """The one that there is."""
    return [Check("script to its end", 75, lambda s: to_its_end(folder, device, s))]


def to_its_end(folder: Path, device: str, timeout_s: float) -> Verdict:
    """The script ends well with each of KINDS, and has the plain script's losses."""
    deadline = time.monotonic() + timeout_s
    folder.mkdir(parents=True)
    plain = _answer(["-m", SCRIPT, device], deadline)
    seen, left_out = [], []
    for kind in KINDS:
        words = " ".join(f"{name}={value}" for name, value in kind.settings.items())
        capability = plain["capability"]
        if kind.cuda and capability is None or capability and tuple(capability) < kind.capability:
            left_out.append(f"{words} is nothing for this device")
            continue
        frozen = folder / "frozen.yaml"
        frozen.write_text(f"settings: {json.dumps(kind.settings)}\nprovenance: {{tuned: []}}\n")
        started = ["-m", "hotlap", "run", "--settings", str(frozen), "-m", SCRIPT, device]
        tuned = _answer(started, deadline)
        if fault := differs(plain, tuned, kind.tolerance):
            return failed(f"{words}: {fault}")
        seen.append(f"{words}: losses within {kind.tolerance:.0%} of the plain script's")
    text = "; ".join([*seen, *left_out])
    return passed(text) if seen else skipped(text)


def differs(plain: Mapping[str, Any], tuned: Mapping[str, Any], tolerance: float) -> str:
    """Where losses differ by more than this share, or ""."""
    for name in ("losses", "evaluations"):
        pairs = list(zip(plain[name], tuned[name], strict=True))
        for i, (own, found) in enumerate(pairs):
            if not math.isclose(own, found, rel_tol=tolerance):
                return f"number {i} of the {name} is {found:.4g}, and {own:.4g} by itself"
    return ""


def _answer(words: Sequence[str], deadline: float) -> dict[str, Any]:
    """What the script prints last.

    Raises:
        ScriptFailed: It fails, or hotlap says that a setting was not in force.
        TimeoutExpired: It takes too long.
    """
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=max(0.0, deadline - time.monotonic()),
    )
    said = done.stderr.strip().splitlines()
    if done.returncode or any("not in force" in line for line in said):
        raise ScriptFailed(f"code {done.returncode}: {' '.join(said[-LAST_LINES:])}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
