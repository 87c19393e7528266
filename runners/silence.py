"""How long a trial may take or be silent, and in which words it is ended for it."""

from __future__ import annotations

import math
from collections.abc import Collection

from hotlap.job import Job

COMPILING_S = 600.0
"""A compiler gets so many seconds more, until the trial is warm: a cold max-autotune of a large
model takes minutes for the first step, and another shape of a batch may need as many."""

LOG = "(the log says where it stood)"


def ran_out(timeout_s: float) -> str:
    """Why a trial is ended that has used up its time, which is always a part of the budget."""
    given = f"{timeout_s:.0f}" if timeout_s >= 10 else f"{timeout_s:.1f}"
    return f"the trial ran out of the {given} s that it was given; for more, type a larger budget="


def patience_s(job: Job, events: Collection[str]) -> float:
    """How many seconds may pass until the trial's next event.

    Args:
        job: What it does.
        events: The names of those that it has told.
    """
    builds = job.script is None and job.kind != "probe" and "built" not in events
    if job.kind == "full_run" or (builds and "warmup" not in events):
        return math.inf  # it takes what it takes
    _, limit_s = _limit(job, events)
    return limit_s + (COMPILING_S if _compiles(job, events) else 0.0)


def too_silent(job: Job, events: Collection[str], silent_s: float) -> str:
    """Why the trial is ended after so many seconds of silence; empty while it may go on."""
    allowed_s = patience_s(job, events)
    if silent_s <= allowed_s:
        return ""
    key, limit_s = _limit(job, events)
    within, compiles = f"within {key}={limit_s:g} s", ""
    if _compiles(job, events):
        within = f"within {allowed_s:g} s ({key}={limit_s:g}, {COMPILING_S:g} to compile)"
        compiles = f"the compiler is still at work (compile_mode={job.settings['compile_mode']}), "
    longer = f"type {key}={10 * limit_s:g}"
    if job.script is not None and "training" not in events:
        return (
            f"no training was seen {within} of the script's start: {compiles}"
            f"{'or ' if compiles else ''}no torch.optim optimizer stepped in its process {LOG}, or "
            "it trains in processes that it starts by itself (mp.spawn, accelerate launch, "
            f"deepspeed: see docs/scripts.md); if it only takes longer, {longer}"
        )
    if job.script is not None:
        return (
            f"nothing was heard of the training {within}: {compiles}it hangs, or the script does "
            "something else for longer without a batch or a call of its model, as a metric or a "
            f"checkpoint may take {LOG}; for that, {longer}"
        )
    if job.kind == "probe":
        return (
            f"nothing was heard of the probe {within}: the workload's function takes longer, or "
            f"its first batches do, or they hang {LOG}; long work says how far it is by "
            f"hotlap.preparing, or {longer}"
        )
    if "warmup" in events:
        what, since, step = "no block ended", "of the one before", "a step"
    else:
        what, since, step = "no step was done", "of the start", "the first step"
    return (
        f"{what} {within} {since}; {compiles}the loader gave no batch or {step} hangs {LOG}; "
        f"if it only takes longer, {longer}"
    )


def _limit(job: Job, events: Collection[str]) -> tuple[str, float]:
    if "warmup" in events:
        return "window.silence_s", job.window.silence_s
    return "window.first_step_s", job.window.first_step_s


def _compiles(job: Job, events: Collection[str]) -> bool:
    return "warm" not in events and job.settings.get("compile_mode", "none") != "none"
