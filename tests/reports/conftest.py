import io
from pathlib import Path

import pytest
from rich.console import Console

from hotlap.measurement import Block, Measurement, Rate
from hotlap.settings import Settings
from reports.result import Arm, Contribution, Ratio, Result

GIB = 1024**3


@pytest.fixture
def measurement() -> Measurement:
    blocks = tuple(Block(10, 320, 0.5 + 0.01 * i, 0.1) for i in range(6))
    return Measurement(
        blocks,
        startup_s=2.0,
        compile_s=1.5,
        peak_host_bytes=2 * GIB,
        peak_device_bytes=GIB,
        gpu={"gpu_power_w": 300.0, "gpu_memory_bytes": float(GIB)},
    )


@pytest.fixture
def result(tmp_path: Path) -> Result:
    """A study that found something better."""
    tuned = Settings(num_workers=6, memory_format="channels_last", compile_mode="default")
    return Result(
        workload="resnet50 on cifar10",
        study="resnet50-1",
        folder=tmp_path,
        baseline=Arm(Settings(), Rate(401.2, 396.9, 405.8), None, 0.0798, 0.61, 2.1, 0.0, GIB),
        expert=Arm(
            Settings(num_workers=4, pin_memory=True),
            Rate(741.9, 730.0, 752.0),
            Ratio(1.85, 1.81, 1.89),
            0.0431,
            0.004,
            peak_host_bytes=3 * GIB,
            peak_device_bytes=8 * GIB,
        ),
        winner=Arm(
            tuned,
            Rate(812.4, 805.1, 819.8),
            Ratio(2.02, 1.98, 2.07),
            0.0394,
            0.03,
            compile_s=41.2,
            peak_host_bytes=4 * GIB,
            peak_device_bytes=8 * GIB,
            trial=31,
        ),
        frozen=tmp_path / ("a-rather-long-name-" * 5 + "resnet50.yaml"),
        contributions=(
            Contribution("num_workers", 6, 0, Ratio(1.52, 1.48, 1.55)),
            Contribution("prefetch_factor", 4, 2, Ratio(1.0, 0.98, 1.02), kept=False),
        ),
        facts={"n_cpus": 16, "gpu": {"name": "H200"}},
        versions={"torch": "2.14.1"},
        n_outcomes={"ok": 21, "pruned": 9, "oom": 1, "timeout": 0},
        dropped=("allocator=jemalloc: its library is not on this machine",),
        warnings=("another job used 31 % of the CPU",),
        wall_s=612.0,
        commands={
            "full run": f"python train.py +model=resnet50 settings={tmp_path}/{'x' * 90}.yaml",
            "all trials": "mlflow ui --backend-store-uri sqlite:////outputs/mlflow.db",
        },
    )


@pytest.fixture
def plain() -> Console:
    """A console that is no terminal, 80 columns wide."""
    return Console(width=80, force_terminal=False, file=io.StringIO())
