"""Tracking: what may be told to a tracking server, as plain records; and how records are made.

A record is plain data for JSON, so that it can wait in a file while the server is down:

    study_record  study, workload, facts, versions, git_commit
    trial_record  study, trial, kind, name, settings, changed, outcome, reason, metrics
    ended_record  study, state ("finished", "interrupted" or "failed"), metrics, changed, note;
                  what a session cannot say anew is left out, and an earlier one's stays
    run_record    run, name, study, workload, settings, changed, facts, versions, git_commit

`metrics` is flat, name with its unit -> finite number, or null for one that is not known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from hotlap.measurement import Measurement, Rate
from hotlap.settings import Settings
from reports.result import Result
from reports.table import markdown

Record = dict[str, Any]

MIB = 1024**2

SHORT = {
    "num_workers": "workers",
    "prefetch_factor": "prefetch",
    "intraop_threads": "threads",
    "omp_wait_policy": "wait",
    "compile_mode": "compile",
    "cudnn_benchmark_limit": "benchmark_limit",
    "float32_matmul_precision": "matmul",
    "micro_batch_size": "micro_batch",
    "multiprocessing_context": "context",
    "sdpa_backend": "sdpa",
}
"""Settings whose names are long for a run's name."""

SPEAK_FOR_THEMSELVES = ("memory_format", "amp", "optimizer_kernel", "allocator")
"""Settings whose values say what they are."""


class Tracking(Protocol):
    """Something that keeps records: MLflow, or nothing.

    No method raises for a server's failure, nor for a full disk.
    """

    def study_started(self, record: Record) -> None:
        """A study begins, or goes on after a resume."""

    def trial(self, record: Record) -> None:
        """A trial ended. Call it between trials: it may take a moment."""

    def study_ended(self, record: Record, artifacts: Sequence[Path]) -> None:
        """The study is over; `artifacts` are the files that belong to it."""

    def run_started(self, record: Record) -> None:
        """A full run begins, or goes on."""

    def run_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """Numbers of the full run at `step`; sent in batches."""

    def run_ended(self, record: Record, artifacts: Sequence[Path]) -> None:
        """The full run is over; `record` has its `state`, and the `metrics` of its end."""

    def send_missing(self) -> None:
        """Send what an earlier session could not."""

    def ui_command(self) -> str:
        """What to type, or to open, to look at it; empty if there is nothing to look at."""

    def close(self) -> None:
        """Send what still waits, leave nothing behind."""


def study_record(
    study: str,
    workload: str,
    facts: Mapping[str, Any],
    versions: Mapping[str, str],
    git_commit: str = "",
) -> Record:
    """A study's beginning. `study` names it for ever and must be its own: runs are found by it."""
    return {
        "study": study,
        "workload": workload,
        "facts": dict(facts),
        "versions": dict(versions),
        "git_commit": git_commit,
    }


def trial_record(
    study: str,
    trial: int | str,
    settings: Settings,
    outcome: str,
    measurement: Measurement | None = None,
    reason: str = "",
    wall_s: float = 0.0,
    kind: str = "search",
    baseline_samples_per_s: float | None = None,
    run_time_s: float | None = None,
) -> Record:
    """A trial's end.

    Args:
        study: The study's name.
        trial: Its number, or a name of its own for a repeat ("12 confirm 2").
        settings: What was tried.
        outcome: How it ended. Only ok and pruned trials have a rate: the steps that a failed one
            did are not a speed.
        measurement: What was measured, None if nothing.
        reason: One line for any outcome but ok.
        wall_s: Seconds from the order until its processes were gone.
        kind: "baseline", "expert", "search" or "confirm".
        baseline_samples_per_s: For the speedup, if it is known.
        run_time_s: Of the full run, where that is the goal; infinite if it is not known.
    """
    # The goal comes first, and is there for a failed trial too, unknown: MLflow's Compare page
    # begins with the first metric, and offers only those that all the chosen runs have.
    unknown: dict[str, float | None] = {"samples_per_s": None}
    if run_time_s is not None:
        unknown = {"run_time_s": None, **unknown}
    metrics: dict[str, float | None] = {"run_time_s": run_time_s}
    if measurement is not None and measurement.blocks and outcome in ("ok", "pruned"):
        metrics |= _rates(measurement, baseline_samples_per_s)
    if measurement is not None:
        metrics |= _costs(measurement)
    metrics["wall_s"] = wall_s
    return {
        "study": study,
        "trial": trial,
        "kind": kind,
        "name": run_name(trial, settings, outcome, kind),
        "settings": settings.to_dict(),
        "changed": settings.changed(),
        "outcome": outcome,
        "reason": reason,
        "metrics": {**unknown, **_rounded(finite(metrics))},
    }


def ended_record(study: str, state: str, result: Result | None = None, reason: str = "") -> Record:
    """A study's end.

    Args:
        study: The study's name.
        state: "finished", "interrupted" or "failed".
        result: What it found; None if it was interrupted or failed.
        reason: Why it ended early, or how to go on, a sentence.
    """
    record: Record = {"study": study, "state": state, "metrics": {}}
    if result is None:
        note = f"**{study}**, a study of hotlap: {state}; {reason}".rstrip("; ")
        return record if state == "finished" else {**record, "note": note}
    metrics: dict[str, float | None] = {
        "n_trials": sum(result.n_outcomes.values()),
        "wall_s": result.wall_s,
    }
    if result.kept:  # and with it the figures of the session that has proven it
        return {**record, "metrics": _rounded(finite(metrics)), "note": markdown(result)}
    winner = result.winner if result.found_better else result.baseline
    metrics |= {
        **_with_ends("samples_per_s", winner.rate),
        "baseline_samples_per_s": result.baseline.rate.value,
        "speedup": 1.0,
        "step_time_ms": winner.step_time_s * 1e3,
        "data_wait_share": winner.data_wait_share,
    }
    if winner.run_time is not None and result.baseline.run_time is not None:
        metrics |= _with_ends("run_time_s", winner.run_time)
        metrics["baseline_run_time_s"] = result.baseline.run_time.value
    if result.found_better and winner.speedup is not None:
        metrics |= _with_ends("speedup", winner.speedup)
    # What is frozen no longer had ends, which would stand beside the 1.
    gone: dict[str, float | None] = {}
    if result.earlier:
        gone = {"speedup_low": None, "speedup_high": None}
    expert = None if result.expert is None else result.expert.speedup
    if expert is not None and expert.known:  # a metric without its ends would pass for proven
        metrics |= _with_ends("expert_speedup", expert)
    return {
        **record,
        "changed": winner.settings.changed(),
        "metrics": {**gone, **_rounded(finite(metrics))},
        "note": markdown(result),
    }


def run_record(
    run: str,
    workload: str,
    settings: Settings,
    study: str = "",
    facts: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] | None = None,
    git_commit: str = "",
) -> Record:
    """A full run's beginning; `run` is its own name for ever, `study` the one that froze it."""
    return {
        **study_record(study, workload, facts or {}, versions or {}, git_commit),
        "run": run,
        "name": f"full run of {workload}",
        "settings": settings.to_dict(),
        "changed": settings.changed(),
    }


def run_name(
    trial: int | str, settings: Settings, outcome: str = "ok", kind: str = "search"
) -> str:
    """A trial's name in a list: "7 workers=2 channels_last", "8 oom workers=16"."""
    words = [str(trial)]
    words += [kind] if kind != "search" else []
    words += [outcome] if outcome != "ok" else []
    for name, value in settings.changed().items():
        short = SHORT.get(name, name)
        if isinstance(value, bool):
            words.append(short if value else f"no_{short}")
        elif name in SPEAK_FOR_THEMSELVES:
            words.append(str(value))
        else:
            words.append(f"{short}={value}")
    return " ".join(words)


def finite(metrics: Mapping[str, float | None]) -> dict[str, float]:
    """Only the numbers that are known and finite: a server's database takes no others."""
    return {n: float(v) for n, v in metrics.items() if v is not None and math.isfinite(v)}


def _rounded(metrics: Mapping[str, float]) -> dict[str, float]:
    """Five digits: more are noise, and fill MLflow's columns. The raw blocks lie in the folder."""
    return {name: float(f"{value:.5g}") for name, value in metrics.items()}


def _with_ends(name: str, rate: Rate) -> dict[str, float | None]:
    """A number with the ends of its interval, if that says anything."""
    low, high = (rate.low, rate.high) if rate.known else (None, None)
    return {name: rate.value, f"{name}_low": low, f"{name}_high": high}


def _rates(m: Measurement, baseline_samples_per_s: float | None) -> dict[str, float | None]:
    rate = m.rate
    return {
        **_with_ends("samples_per_s", rate),
        "speedup": rate.value / baseline_samples_per_s if baseline_samples_per_s else None,
        "step_time_ms": m.step_time_s * 1e3,
        "data_wait_share": m.data_wait_share,
        "tokens_per_s": m.tokens_per_s,
        "other_cpu_share": m.other_cpu_share,
        **{_in_mib(name): _as_mib(name, value) for name, value in m.gpu.items()},
    }


def _costs(m: Measurement) -> dict[str, float | None]:
    return {
        "startup_s": m.startup_s,
        "warmup_s": m.warmup_s,
        "compile_s": m.compile_s,
        "epoch_start_s": m.epoch_start_s,
        "peak_host_mib": m.peak_host_bytes / MIB if m.peak_host_bytes else None,
        "peak_device_mib": m.peak_device_bytes / MIB if m.peak_device_bytes else None,
    }


def _in_mib(name: str) -> str:
    return f"{name.removesuffix('_bytes')}_mib" if name.endswith("_bytes") else name


def _as_mib(name: str, value: float) -> float:
    return value / MIB if name.endswith("_bytes") else value
