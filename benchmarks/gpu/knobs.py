"""Every knob takes effect: each value in a worker of its own, and what torch shows of it there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.gpu.check import Check, Verdict, failed, passed, skipped
from benchmarks.machine import ROOT
from hotlap.job import Job, Window
from runners.process import ProcessRunner

N_SAMPLES = 32
"""Samples of a step, see benchmarks/gpu/look.py."""

UNSUPPORTED = "not supported on this platform"
"""How torch's allocator warns that it leaves a setting aside."""


@dataclass(frozen=True)
class Expected:
    """What a value of the report has to be."""

    text: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True)
class Row:
    """Settings, and what the worker's report must say with them.

    Attributes:
        settings: As in a frozen file.
        report: Key of the report (see benchmarks/gpu/look.py) -> a value, or Expected.
        cuda: Whether it needs CUDA.
        tf32: Whether it needs TF32, which NVIDIA's GPUs have since Ampere.
        cost_s: Seconds that it may take.
    """

    settings: Mapping[str, Any]
    report: Mapping[str, Any] = field(default_factory=dict)
    cuda: bool = True
    tf32: bool = False
    cost_s: float = 15.0

    @property
    def name(self) -> str:
        """`amp=bf16 sdpa_backend=flash`, or `defaults`."""
        return " ".join(f"{k}={v}" for k, v in self.settings.items()) or "defaults"


def above(limit: float) -> Expected:
    """A number above `limit`."""
    return Expected(f"above {limit:g}", lambda value: value > limit)


def below(limit: float) -> Expected:
    """A number below `limit`."""
    return Expected(f"below {limit:g}", lambda value: value < limit)


def one_has(part: str) -> Expected:
    """A list of texts, one of which holds `part`."""
    return Expected(f"one with {part}", lambda texts: any(part in text for text in texts))


BF16_ATTENTION: Mapping[str, Any] = {"amp": "bf16"}
"""Flash and cuDNN attention take half precision only."""

ROWS = (
    Row(
        {},
        {"forward_dtype": "float32", "scales": False, "n_forwards": 1, "n_graphs": 0},
        cuda=False,
    ),
    Row({"num_workers": 2, "prefetch_factor": 4, "persistent_workers": True}, cuda=False),
    Row({"memory_format": "channels_last"}, {"layouts": one_has("channels_last")}, cuda=False),
    Row({"amp": "bf16"}, {"forward_dtype": "bfloat16", "scales": False}, cuda=False),
    Row({"optimizer_kernel": "for_loop"}, cuda=False),
    Row({"optimizer_kernel": "foreach"}, {"ops": one_has("_foreach_")}, cuda=False),
    Row({"optimizer_kernel": "fused"}, {"ops": one_has("_fused_adamw_")}, cuda=False),
    Row({"micro_batch_size": 8}, {"n_forwards": N_SAMPLES // 8}, cuda=False),
    Row({"sdpa_backend": "math"}, {"ops": one_has("dot_product_attention_math")}, cuda=False),
    Row(
        {"sdpa_backend": "flash", **BF16_ATTENTION},
        {"ops": one_has("dot_product_flash_attention")},
        cuda=False,
    ),
    Row({"sdpa_backend": "efficient"}, {"ops": one_has("dot_product_efficient_attention")}),
    Row(
        {"sdpa_backend": "cudnn", **BF16_ATTENTION},
        {"ops": one_has("dot_product_cudnn_attention")},
    ),
    Row({"amp": "fp16"}, {"forward_dtype": "float16", "scales": True, "trained": True}),
    Row({"pin_memory": False}, {"pinned": False, "copy_waits": True}),
    Row({"pin_memory": True}, {"pinned": True, "copy_waits": True}),
    Row({"pin_memory": True, "non_blocking": True}, {"pinned": True, "copy_waits": False}),
    Row(
        {"pin_memory": True, "non_blocking": True, "memory_format": "channels_last"},
        {"layouts": one_has("channels_last")},
    ),
    Row({"float32_matmul_precision": "highest"}, {"matmul_error": below(1e-5)}),
    Row({"float32_matmul_precision": "high"}, {"matmul_error": above(1e-5)}, tf32=True),
    Row({"float32_matmul_precision": "medium"}, {"matmul_error": above(1e-5)}, tf32=True),
    Row({"cudnn_allow_tf32": False}, {"conv_error": below(1e-5)}),
    Row({"cudnn_allow_tf32": True}, {"conv_error": above(1e-5)}, tf32=True),
    Row({"cudnn_benchmark": True, "cudnn_benchmark_limit": 0}),
    Row({"cudnn_benchmark": True, "cudnn_benchmark_limit": 4}),
    Row({"cudnn_deterministic": True}, {"same_gradients": True}),
    Row({"cuda_alloc_conf": ""}, {"expandable": False, "cuda_allocator": "native"}),
    Row({"cuda_alloc_conf": "expandable_segments:True"}, {"expandable": True}),
    Row({"cuda_alloc_conf": "backend:cudaMallocAsync"}, {"cuda_allocator": "cudaMallocAsync"}),
    Row({"compile_mode": "default"}, {"n_graphs": above(0)}, cuda=False, cost_s=60),
    Row(
        {"compile_mode": "reduce-overhead"},
        {"n_graphs": above(0), "replays_graphs": True},
        cost_s=60,
    ),
)

LONG = (
    Row(
        {"compile_mode": "reduce-overhead", "set_to_none": False},
        {"n_graphs": above(0), "replays_graphs": True},
        cost_s=60,
    ),
    Row(
        {"compile_mode": "max-autotune"},
        {"n_graphs": above(0), "replays_graphs": True},
        cost_s=120,
    ),
)
"""Only if time is left at the end."""


def checks(rows: tuple[Row, ...], runner: ProcessRunner, folder: Path, device: str) -> list[Check]:
    """The rows that this device can try, as checks."""

    def trying(row: Row) -> Callable[[float], Verdict]:
        return lambda timeout_s: _try(row, runner, folder / row.name, device, timeout_s)

    return [
        Check(row.name, row.cost_s, trying(row))
        for row in rows
        if device.startswith("cuda") or not row.cuda
    ]


def _try(row: Row, runner: ProcessRunner, folder: Path, device: str, timeout_s: float) -> Verdict:
    report, why = report_of(row.settings, runner, folder, device, timeout_s)
    return why if report is None else verdict(row, report)


def report_of(
    settings: Mapping[str, Any],
    runner: ProcessRunner,
    folder: Path,
    device: str,
    timeout_s: float,
) -> tuple[dict[str, Any] | None, Verdict]:
    """The report of a worker with `settings`; None and the reason if there is none."""
    path = folder / "report.json"
    job = Job(
        "benchmarks.gpu.look.watched",
        {"report": str(path), "device": device},
        dict(settings),
        Window(first_step_s=timeout_s),
        import_path=(str(ROOT),),
    )
    run = runner.run(job, folder, lambda event: event["event"] == "built", timeout_s)
    log = (folder / "worker.log").read_text(encoding="utf-8", errors="replace")
    for line in log.splitlines():
        if UNSUPPORTED in line:
            return None, skipped(line.strip())
    if run.outcome == "invalid":
        return None, skipped(run.reason)
    if not path.exists():
        last = (run.traceback.strip().splitlines() or [""])[-1]
        return None, failed(f"{run.outcome}: {run.reason} {last}".strip())
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report, passed("")


def verdict(row: Row, report: Mapping[str, Any]) -> Verdict:
    """Whether the report says what the row promises, if the device can do it at all."""
    if row.tf32 and not report["tf32"]:
        return skipped("this device has no TF32 (NVIDIA Ampere and later do)")
    faults = list(report["disagreements"])
    faults += [
        f"{note['setting']}: {note['reason']}"
        for note in report["notes"]
        if note["setting"] in row.settings
    ]
    seen = []
    for key, value in row.report.items():
        wanted = value if isinstance(value, Expected) else _equal(value)
        found = report.get(key)
        if key not in report or not wanted.holds(found):
            faults.append(f"{key} should be {wanted.text}, and is {found!r}")
        elif isinstance(value, Expected) and isinstance(found, float):
            seen.append(f"{key} {found:.1e}")
        else:
            seen.append(f"{key} {value.text if isinstance(value, Expected) else value}")
    if faults:
        return failed("; ".join(faults))
    told = {name: report["in_force"].get(name) for name in row.settings}
    flags = [f"torch says {name} {value}" for name, value in told.items() if value is not None]
    return passed("; ".join([*flags, *seen]))


def _equal(value: Any) -> Expected:
    return Expected(repr(value), lambda found: bool(found == value))
