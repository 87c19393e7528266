"""Arm: one of the settings values that a study compares, as the reports show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hotlap.measurement import Measurement, Rate, Ratio
from hotlap.settings import Settings


@dataclass(frozen=True)
class Arm:
    """One of the settings values that are compared: baseline, expert or winner.

    Attributes:
        settings: What was tried.
        rate: Samples per second with the 95 % interval, whatever the objective is.
        speedup: Over the baseline, from paired rounds; None for the baseline itself, and where no
            round could be compared.
        step_time_s: Steady seconds for one optimizer update.
        data_wait_share: Share of the window blocked in `next(loader)`, 0..1; on a CUDA device only
            while that had nothing to do.
        startup_s: From the trial's start until the first batch.
        compile_s: Compilation and autotuning before the window.
        peak_host_bytes: Peak resident memory of the trial's processes, None if unknown.
        peak_device_bytes: Peak reserved device memory, None without a device.
        tokens_per_s: None where the workload does not count tokens.
        gpu: Means of the GPU watch's counters; empty without a GPU.
        n_runs: Processes that were measured for these numbers.
        trial: Number of the trial that proposed the settings.
        samples_per_step: Mean samples of one step.
        n_epoch_steps: Steps in an epoch, None if unknown.
        run_time: Projected seconds of the full run with the 95 % interval; None for the objective
            throughput.
        together: Samples per second of training, measured next to `loader` and `compute`.
        loader: Samples per second of the loader alone, None if it was not measured.
        compute: Samples per second of the model alone, on batches in memory; None likewise.
        stall_share: Share 0..1 of its speed alone that the model loses by waiting; None likewise.
        barred: Why it may not be frozen, however fast it is; empty if it may.
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
    samples_per_step: float = math.nan
    n_epoch_steps: int | None = None
    run_time: Rate | None = None
    together: Rate | None = None
    loader: Rate | None = None
    compute: Rate | None = None
    stall_share: float | None = None
    barred: str = ""

    @classmethod
    def of(
        cls,
        settings: Settings,
        rate: Rate,
        measurements: Sequence[Measurement],
        speedup: Ratio | None = None,
        trial: int | None = None,
        run_time: Rate | None = None,
    ) -> Arm:
        """An arm from the measurements of its processes: means, and peaks of the memory.

        Args:
            settings: What was tried.
            rate: The rate to quote, over all processes; a process differs from the next by more
                than blocks differ within one, so it is the caller's.
            measurements: One for each process, at least one.
            speedup: Over the baseline.
            trial: Number of the trial that proposed the settings.
            run_time: Projected seconds of the full run, over all processes.
        """
        tokens = measurements[0].tokens_per_sample
        samples_per_step = _mean([m.samples_per_step for m in measurements])
        counters = dict.fromkeys(name for m in measurements for name in m.gpu)
        return cls(
            settings=settings,
            rate=rate,
            speedup=speedup,
            step_time_s=samples_per_step / rate.value if rate.value > 0 else math.nan,
            data_wait_share=_mean([m.data_wait_share for m in measurements]),
            startup_s=_mean([m.startup_s for m in measurements]),
            compile_s=_mean([m.compile_s for m in measurements]),
            peak_host_bytes=_peak([m.peak_host_bytes for m in measurements]),
            peak_device_bytes=_peak([m.peak_device_bytes for m in measurements]),
            tokens_per_s=rate.value * tokens if tokens else None,
            gpu={c: _mean([m.gpu[c] for m in measurements if c in m.gpu]) for c in counters},
            n_runs=len(measurements),
            trial=trial,
            samples_per_step=samples_per_step,
            n_epoch_steps=measurements[0].n_epoch_steps,
            run_time=run_time,
        )

    def with_sides(self, diagnosis: Any) -> Arm:
        """The arm with what was measured of each side (a studies.Diagnosis)."""
        return replace(
            self,
            together=diagnosis.together,
            loader=diagnosis.loader,
            compute=diagnosis.compute,
            stall_share=diagnosis.stall_share,
        )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _peak(values: Sequence[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
