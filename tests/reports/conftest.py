import dataclasses
import io
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from hotlap.measurement import Block, Measurement, Rate, Ratio
from hotlap.settings import Settings
from reports.arm import Arm
from reports.contribution import Contribution, Refusal
from reports.result import Result
from reports.screen import Screen

GIB = 1024**3


@dataclass
class Said:
    """A doubt as the studies make them."""

    name: str = "machine-busy"
    sentence: str = "others used 31 % of this machine's CPU during 12 of 20 trials"
    cause: str = "another job runs on this machine"
    advice: str = "tune while it is as busy as it will be in the full run; who it is: top"


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
        warnings=(Said(sentence="another job used 31 % of the CPU"),),
        wall_s=612.0,
        commands={
            "full run": f"python train.py +model=resnet50 settings={tmp_path}/{'x' * 90}.yaml",
            "all trials": "mlflow ui --backend-store-uri sqlite:////outputs/mlflow.db",
        },
    )


@pytest.fixture
def full_result(result: Result) -> Result:
    """The same study with everything that a result may hold."""
    winner = dataclasses.replace(
        result.winner,
        startup_s=2.6,
        samples_per_step=32.0,
        n_epoch_steps=1000,
        loader=Rate(2100.0, 2050.0, 2150.0),
        compute=Rate(820.0, 815.0, 825.0),
        stall_share=0.009,
    )
    baseline = dataclasses.replace(
        result.baseline,
        loader=Rate(450.0, 440.0, 460.0),
        compute=Rate(741.0, 735.0, 747.0),
        stall_share=0.46,
    )
    plain = dataclasses.replace(winner, compile_s=0.2, startup_s=2.5)
    compiled = Contribution("compile_mode", "default", "none", Ratio(1.25, 1.2, 1.3), without=plain)
    pinned = Contribution(
        "pin_memory + non_blocking",
        (True, True),
        (False, False),
        Ratio(1.001, 0.99, 1.01),
        kept=False,
        reason="its interval holds 1.00",
        without=winner,
    )
    return dataclasses.replace(
        result,
        baseline=baseline,
        winner=winner,
        contributions=(*result.contributions, compiled, pinned),
        warnings=(Said(),),
        noise="Processes that run the same differ by 1.2 %; less than 1.5 % cannot be shown.",
        diagnosis={
            "baseline": "data-bound: the loader delivers 450 of the 741 samples/s that the model "
            "could take",
            "winner": "compute-bound: the model takes 820 samples/s, the loader could deliver 2100",
        },
        searched=2.31,
        refused=(Refusal("trial 12", "its loss is nan at step 3"),),
        epochs=90.0,
        n_epoch_samples=1_281_167,
    )


@pytest.fixture
def run_time_result(full_result: Result) -> Result:
    """The same study, had it been asked for the shortest run."""
    times = {"baseline": Rate(23050.0, 22800.0, 23300.0), "winner": Rate(11525.0, 11400.0, 11650.0)}
    arms = {
        name: dataclasses.replace(getattr(full_result, name), run_time=time)
        for name, time in times.items()
    }
    return dataclasses.replace(full_result, objective="run_time", **arms)


@pytest.fixture
def plain() -> Screen:
    """A console that is no terminal, 80 columns wide."""
    return Screen(width=80, force_terminal=False, file=io.StringIO())


@pytest.fixture(autouse=True)
def no_server_of_the_user(active, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory) -> Path:
    """A database with MLflow's tables: making them takes seconds, copying them does not."""
    from reports.mlflow_runs import MlflowRuns

    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowRuns(f"sqlite:///{path}", "unused")
    return path


@pytest.fixture
def database(empty_database, tmp_path) -> Path:
    return Path(shutil.copy(empty_database, tmp_path / "mlflow.db"))
