"""Result: everything that a study ends with, and its machine-readable form, result.json."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hotlap.job import write_text
from hotlap.measurement import Measurement, Rate
from hotlap.settings import Settings

FORMAT = 1
"""Version of result.json's layout; it grows when a key changes its meaning or goes away."""


@dataclass(frozen=True)
class Ratio:
    """A ratio of two rates with its 95 % interval; 1.0 is "no difference"."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Arm:
    """One of the settings values that are compared: baseline, expert or winner.

    Attributes:
        settings: What was tried.
        rate: Samples per second with the 95 % interval.
        speedup: Over the baseline, from paired rounds; None for the baseline itself.
        step_time_s: Steady seconds for one optimizer update.
        data_wait_share: Share of the window blocked in `next(loader)`, 0..1.
        startup_s: From the trial's start until the first batch.
        compile_s: Compilation and autotuning before the window.
        peak_host_bytes: Peak resident memory of the trial's processes, None if unknown.
        peak_device_bytes: Peak reserved device memory, None without a device.
        tokens_per_s: None where the workload does not count tokens.
        gpu: Means of the GPU watch's counters; empty without a GPU.
        n_runs: Processes that were measured for these numbers.
        trial: Number of the trial that proposed the settings.
    """

    settings: Settings
    rate: Rate
    speedup: Ratio | None = None
    step_time_s: float = math.nan
    data_wait_share: float = math.nan
    startup_s: float = math.nan
    compile_s: float = 0.0
    peak_host_bytes: int | None = None
    peak_device_bytes: int | None = None
    tokens_per_s: float | None = None
    gpu: dict[str, float] = field(default_factory=dict)
    n_runs: int = 0
    trial: int | None = None

    @classmethod
    def of(
        cls,
        settings: Settings,
        rate: Rate,
        measurements: Sequence[Measurement],
        speedup: Ratio | None = None,
        trial: int | None = None,
    ) -> Arm:
        """An arm from the measurements of its processes: means, and peaks of the memory.

        Args:
            settings: What was tried.
            rate: The rate to quote, over all processes; a process differs from the next by more
                than blocks differ within one, so it is the caller's.
            measurements: One for each process, at least one.
            speedup: Over the baseline.
            trial: Number of the trial that proposed the settings.
        """
        tokens = measurements[0].tokens_per_sample
        counters = dict.fromkeys(name for m in measurements for name in m.gpu)
        return cls(
            settings=settings,
            rate=rate,
            speedup=speedup,
            step_time_s=_mean([m.step_time_s for m in measurements]),
            data_wait_share=_mean([m.data_wait_share for m in measurements]),
            startup_s=_mean([m.startup_s for m in measurements]),
            compile_s=_mean([m.compile_s for m in measurements]),
            peak_host_bytes=_peak([m.peak_host_bytes for m in measurements]),
            peak_device_bytes=_peak([m.peak_device_bytes for m in measurements]),
            tokens_per_s=rate.value * tokens if tokens else None,
            gpu={c: _mean([m.gpu[c] for m in measurements if c in m.gpu]) for c in counters},
            n_runs=len(measurements),
            trial=trial,
        )


@dataclass(frozen=True)
class Contribution:
    """What one changed setting brings: the winner's rate over its rate without the change."""

    setting: str
    value: Any
    default: Any
    ratio: Ratio
    kept: bool = True


@dataclass(frozen=True)
class Result:
    """What the study found. Times in seconds, sizes in bytes, shares 0..1.

    Attributes:
        workload: Its name.
        study: The study's name.
        folder: The study's folder.
        baseline: PyTorch's defaults.
        winner: The best candidate of the confirm rounds, or the baseline if there was none. It is
            frozen only if its speedup's whole interval lies above 1.0, see `found_better`.
        expert: Settings that an engineer would set by hand; None if they could not be measured.
        frozen: The frozen settings file.
        contributions: What each changed setting of the winner brings; dropped ones too.
        facts: Of the machine.
        versions: Of the libraries.
        n_outcomes: Outcome -> number of trials that ended so.
        dropped: A line for each knob that was left out, which and why.
        warnings: Each a sentence.
        diagnosis: Which side is the bottleneck, a sentence; empty if it was not asked.
        wall_s: Of the whole study.
        commands: What to type next: what for -> command.
    """

    workload: str
    study: str
    folder: Path
    baseline: Arm
    winner: Arm
    expert: Arm | None = None
    frozen: Path | None = None
    contributions: tuple[Contribution, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    n_outcomes: dict[str, int] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    diagnosis: str = ""
    wall_s: float = 0.0
    commands: dict[str, str] = field(default_factory=dict)

    @property
    def found_better(self) -> bool:
        """Whether the winner's whole interval lies above the baseline."""
        return self.winner.speedup is not None and self.winner.speedup.low > 1.0

    @property
    def arms(self) -> dict[str, Arm]:
        """The compared arms by their name, in the order of the reports.

        A candidate that did not win is `best tried`; the baseline is not listed twice.
        """
        arms = {"baseline": self.baseline}
        if self.expert is not None:
            arms["expert"] = self.expert
        if self.found_better:
            arms["winner"] = self.winner
        elif self.winner.settings.key() != self.baseline.settings.key():
            arms["best tried"] = self.winner
        return arms


def to_dict(result: Result) -> dict[str, Any]:
    """Plain data for JSON: `format`, then the attributes of `Result`, nested as they are.

    Each arm's `settings` holds all that mean something, `changed` those that differ from PyTorch's
    default. A number that is unknown or not finite is null.
    """
    data = {"format": FORMAT, **_fields(result), "found_better": result.found_better}
    return {name: _plain(value) for name, value in data.items()}


def write_json(result: Result, path: Path) -> None:
    """Write `to_dict(result)` as JSON to `path`, aside first and then renamed into place."""
    write_text(path, json.dumps(to_dict(result), indent=1, allow_nan=False) + "\n")


def _fields(item: Any) -> dict[str, Any]:
    return {name: getattr(item, name) for name in item.__dataclass_fields__}


def _plain(item: Any) -> Any:
    if isinstance(item, Arm):
        return _plain({**_fields(item), "changed": item.settings.changed()})
    if isinstance(item, Settings):
        return item.to_dict()
    if isinstance(item, (Contribution, Ratio, Rate)):
        return _plain(_fields(item))
    if isinstance(item, dict):
        return {str(key): _plain(value) for key, value in item.items()}
    if isinstance(item, (list, tuple)):
        return [_plain(value) for value in item]
    if isinstance(item, float):
        return item if math.isfinite(item) else None
    return item if item is None or isinstance(item, (bool, int, str)) else str(item)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _peak(values: Sequence[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
