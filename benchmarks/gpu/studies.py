"""Whole studies, as a user types them: resnet50 with a resident batch, and with JPEGs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.gpu.check import Check, Verdict, failed, passed
from benchmarks.machine import ROOT

STUDIES: dict[str, dict[str, tuple[str, ...]]] = {
    "cuda": {
        "study resnet50 resident": ("+model=resnet50", "data=resident"),
        "study resnet50 JPEGs": ("+model=resnet50",),
    },
    "cpu": {"study digits_mlp": ("+model=digits_mlp", "search_space=[dataloader,optimizer]")},
}
SPARE_S = 20.0
"""A study may take so much longer than its budget: reports, and JPEGs generated once."""


def checks(folder: Path, device: str, budget_s: int) -> list[Check]:
    """One check for each study."""

    def trying(name: str, words: tuple[str, ...]) -> Callable[[float], Verdict]:
        return lambda timeout_s: _tune(folder / name, words, device, budget_s, timeout_s)

    kind = device.partition(":")[0]
    return [
        Check(name, budget_s + SPARE_S, trying(name, words))
        for name, words in STUDIES[kind].items()
    ]


def _tune(
    folder: Path, words: tuple[str, ...], device: str, budget_s: int, timeout_s: float
) -> Verdict:
    folder.mkdir(parents=True)
    command = [sys.executable, str(ROOT / "tune.py"), *words]
    command += [f"device={device}", f"budget={budget_s}s", "tracking=none", "bank=none"]
    command += ["freeze=best.yaml"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired as late:
        text = late.stdout.decode(errors="replace") if late.stdout else ""
        print(text, flush=True)
        return failed(f"tune.py did not end within {timeout_s:.0f} s")
    print(done.stdout, flush=True)
    if done.returncode:
        return failed(f"tune.py ended with code {done.returncode}")
    if not (folder / "best.yaml").exists():
        return failed("tune.py ended well and froze nothing")
    return passed("its lines stand above")
