"""Ask a tuner about a loop: called as its documentation says, its answer as settings by our names.

    hotlap             tune.py script=<loop> budget=...: the unchanged script, as a user has it
    pytorch-autotune   autotune(model, batch, ...), see benchmarks/rival/ask_autotune.py
    train-doctor       train-doctor fix -- python <loop>: the same unchanged script
    optuna             a page of an engineer's own, see benchmarks/rival/ask_optuna.py

`parse_*` take what each says in the end and give its settings and the speedup that it claims.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.rival.grid import GRIDS
from benchmarks.rival.start import changed, clean, run
from benchmarks.rival.venvs import CannotInstall, last_line, prepare
from hotlap.errors import HotlapError
from hotlap.frozen import load_frozen

OURS = "hotlap"
RIVALS = ("pytorch-autotune", "train-doctor", "optuna")
TUNERS = (OURS, *RIVALS)

WINDOWED = ("optuna",)
"""Tuners whose trials are the judge's own blocks: another length of them is another search."""

LATE = 10
"""A tuner that takes so many times the budget is ended. train-doctor has no budget of its own."""


@dataclass(frozen=True)
class Answer:
    """What a tuner said of one loop.

    Attributes:
        settings: What it would change, by our names; empty if nothing.
        claimed: Its own speedup; 1 if it found nothing better, None if it says none.
        low: Its own 95 % interval's lower end, where it has one.
        high: The upper end.
        minutes: Wall clock from its command to its answer.
        budget_s: What it was given.
        seconds: Of a block of the judge's at that time, see `WINDOWED`.
        failed: Why there is no answer; empty if there is one.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    claimed: float | None = None
    low: float | None = None
    high: float | None = None
    minutes: float = 0.0
    budget_s: float = 0.0
    seconds: float = 0.0
    failed: str = ""


@dataclass(frozen=True)
class Asking:
    """How tuners are asked.

    Attributes:
        budget_s: Seconds of each search.
        seconds: Of a trial's window in Optuna's search.
        venvs: Folder of the rivals' environments.
        share: Whether they see this interpreter's packages.
        place: Folder for what tuners write.
    """

    budget_s: float
    seconds: float
    venvs: Path
    share: bool
    place: Path


class NoAnswer(Exception):
    """A tuner gave no settings; the text is why."""


def ask(tuner: str, loop: str, how: Asking) -> Answer:
    """The answer of `tuner` about `loop`; a failure is an answer too."""
    begun = time.monotonic()
    given = {"budget_s": how.budget_s, "seconds": how.seconds}
    try:
        python = Path(sys.executable)
        if tuner != OURS:
            python = prepare(tuner, how.venvs, how.share)
            begun = time.monotonic()
        settings, claim = _ASK[tuner](loop, python, how)
        known = changed(settings)
    except CannotInstall as error:
        return Answer(**given, failed=f"cannot be installed: {error}")
    except (NoAnswer, HotlapError, ValueError, OSError) as error:
        return Answer(minutes=_minutes(begun), **given, failed=str(error))
    except (KeyError, TypeError, AttributeError) as error:  # the shape of another release
        why = f"its answer has no {error}" if isinstance(error, KeyError) else str(error)
        return Answer(minutes=_minutes(begun), **given, failed=why)
    return Answer(known, *claim, minutes=_minutes(begun), **given)


Claim = tuple[float | None, float | None, float | None]
"""A claimed speedup and the ends of its interval."""


def parse_ours(frozen: Path) -> tuple[dict[str, Any], Claim]:
    """Settings and claim of a frozen file."""
    found = load_frozen(frozen)
    low, high = found.provenance.get("speedup_ci95") or (None, None)
    return found.settings.changed(), (found.provenance["speedup"], low, high)


def parse_autotune(report: Mapping[str, Any]) -> tuple[dict[str, Any], Claim]:
    """Settings and claim of `report.to_dict()`. Its TF32 and cuDNN flags act on a GPU only."""
    winner = report["winner"]
    settings: dict[str, Any] = {
        "amp": {"amp_bf16": "bf16", "amp_fp16": "fp16"}.get(winner["precision"], "none"),
        "compile_mode": "none" if winner["compile"] == "off" else winner["compile"],
        "memory_format": "channels_last" if winner["channels_last"] else "contiguous",
        "optimizer_kernel": "fused" if winner["fused_opt"] else "default",
    }
    if "gpu_name" in report["env"] and winner["precision"] != "fp32_default":
        settings |= {"float32_matmul_precision": "high", "cudnn_benchmark": True}
    return settings, (report["speedup"], None, None)


INJECTED = {
    "TRAIN_DOCTOR_FIX_NUM_WORKERS": ("num_workers", int),
    "TRAIN_DOCTOR_FIX_PIN_MEMORY": ("pin_memory", lambda text: text == "1"),
    "TRAIN_DOCTOR_FIX_CUDNN_BENCHMARK": ("cudnn_benchmark", lambda text: text == "1"),
}
"""What `train-doctor fix` can put in force by itself."""


def parse_doctor(fix: Mapping[str, Any]) -> tuple[dict[str, Any], Claim]:
    """Settings and claim of `train-doctor fix --json`; nothing proven is nothing changed."""
    if fix.get("error"):
        raise NoAnswer(f"could not profile the loop: {fix['error'].get('hint')}")
    proven = fix.get("proven")
    if not proven:
        return {}, (1.0, None, None)
    tried = [*fix["candidates"], *([fix["combined"]] if fix.get("combined") else [])]
    (kept,) = [one for one in tried if one["candidate"] == proven["candidate"]]
    settings = {}
    for name, text in kept["env"].items():
        knob, value_of = INJECTED[name]
        settings[knob] = value_of(text)
    ratio = proven["ratio"]
    return settings, (ratio["point"], ratio["low"], ratio["high"])


def parse_optuna(answer: Mapping[str, Any]) -> tuple[dict[str, Any], Claim]:
    """Settings and claim of the engineer's page."""
    return dict(answer["settings"]), (answer["speedup"], None, None)


def last_json(text: str) -> dict[str, Any]:
    """The last JSON object of an output: on its last line, or over its last lines.

    Raises:
        NoAnswer: There is none.
    """
    lines = text.rstrip().splitlines()
    for first in range(len(lines) - 1, -1, -1):
        if lines[first].startswith("{"):
            try:
                return dict(json.loads("\n".join(lines[first:])))
            except json.JSONDecodeError:
                continue
    raise NoAnswer("it printed no answer")


def _ours(loop: str, python: Path, how: Asking) -> tuple[dict[str, Any], Claim]:
    place = how.place / loop
    place.mkdir(parents=True, exist_ok=True)
    frozen = place / "hotlap.yaml"
    frozen.unlink(missing_ok=True)
    words = [str(python), str(ROOT / "tune.py"), f"script={_script(loop)}", f"freeze={frozen}"]
    # No bank: an answer of yesterday takes no minutes.
    _run([*words, f"budget={how.budget_s:.0f}s", "bank=none", "tracking=none"], place, how)
    return parse_ours(frozen)


def _autotune(loop: str, python: Path, how: Asking) -> tuple[dict[str, Any], Claim]:
    words = [str(python), "-m", "benchmarks.rival.ask_autotune", loop, f"{how.budget_s:.0f}"]
    return parse_autotune(last_json(_run(words, ROOT, how)))


def _doctor(loop: str, python: Path, how: Asking) -> tuple[dict[str, Any], Claim]:
    place = how.place / loop
    place.mkdir(parents=True, exist_ok=True)
    command = [str(python.with_name("train-doctor")), "fix", "--json", "--out", str(place / "td")]
    # Its README: give the full path of the interpreter that has torch.
    return parse_doctor(
        last_json(_run([*command, "--", sys.executable, _script(loop)], place, how))
    )


def _optuna(loop: str, python: Path, how: Asking) -> tuple[dict[str, Any], Claim]:
    words = [str(python), "-m", "benchmarks.rival.ask_optuna", loop, json.dumps(GRIDS[loop])]
    return parse_optuna(last_json(_run([*words, str(how.budget_s), str(how.seconds)], ROOT, how)))


_ASK = {OURS: _ours, "pytorch-autotune": _autotune, "train-doctor": _doctor, "optuna": _optuna}


def _script(loop: str) -> str:
    return str(ROOT / "benchmarks" / "rival" / "loops" / f"{loop}.py")


def _run(words: list[str], cwd: Path, how: Asking) -> str:
    """Standard output of a command; its whole output is kept in the tuners' folder."""
    try:
        done = run(words, cwd, clean(os.environ), LATE * how.budget_s)
    except subprocess.TimeoutExpired as late:
        raise NoAnswer(f"no answer in {LATE} times the budget") from late
    with (how.place / "log.txt").open("a", encoding="utf-8") as log:
        log.write(f"$ {' '.join(words)}\n{done.stdout}\n{done.stderr}\n")
        log.write(f"code {done.returncode}\n\n")
    if done.returncode:
        raise NoAnswer(
            f"ended with code {done.returncode}: {last_line(done.stderr or done.stdout)}"
        )
    return done.stdout


def _minutes(begun: float) -> float:
    return (time.monotonic() - begun) / 60
