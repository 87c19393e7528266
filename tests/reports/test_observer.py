"""What MLflow keeps of a study's trials. Real MLflow on SQLite."""

from dataclasses import dataclass, replace

import pytest

from hotlap.measurement import Measurement
from hotlap.settings import Settings
from reports.mlflow_tracking import MlflowTracking
from reports.observer import StudyObserver
from reports.progress import Progress
from reports.tracking import study_record
from runners.protocol import Run
from tests.reports.told import FACTS, TUNED, runs_of

# MLflow's own dependencies warn when they are imported; hotlap cannot mend that.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::PendingDeprecationWarning"
)


@dataclass
class Tried:
    number: int
    kind: str
    settings: Settings
    run: Run
    value: float = 0.0


def as_fast(m: Measurement, factor: float) -> Run:
    """A run in which each block took its time by `factor`."""
    return Run(
        "ok", replace(m, blocks=tuple(replace(b, seconds=b.seconds / factor) for b in m.blocks))
    )


def test_a_study_that_goes_on_knows_its_baseline(database, tmp_path, measurement, plain):
    tracking = MlflowTracking(tmp_path, database)
    tracking.study_started(study_record("s1", "resnet50", FACTS, {}))
    kinds = [("expert", 2.0), ("repeat", 0.5), ("search", 1.5), ("repeat", 1.0), ("confirm", 1.0)]
    with Progress(plain, 100.0) as progress:
        observer = StudyObserver("s1", progress, tracking)
        observer.began_with(measurement.samples_per_s)
        for number, (kind, factor) in enumerate(kinds, start=5):
            settings = Settings() if kind == "repeat" else TUNED
            observer.trial_ended(Tried(number, kind, settings, as_fast(measurement, factor)))
    tracking.close()
    found = {run.data.tags.get("hotlap.trial"): run for (run,) in runs_of(tracking.uri).values()}
    speedups = [found[str(number)].data.metrics["speedup"] for number in range(5, 10)]
    # The first over the earlier session's baseline, all others over this one's first repeat.
    assert speedups == pytest.approx([2.0, 1.0, 3.0, 2.0, 2.0], rel=1e-3)


def test_without_a_baseline_there_is_no_speedup(database, tmp_path, measurement, plain):
    tracking = MlflowTracking(tmp_path, database)
    tracking.study_started(study_record("s1", "resnet50", FACTS, {}))
    with Progress(plain, 100.0) as progress:
        observer = StudyObserver("s1", progress, tracking)
        observer.began_with(None)
        observer.trial_ended(Tried(0, "baseline", Settings(), Run("crash", measurement)))
        observer.trial_ended(Tried(1, "search", TUNED, as_fast(measurement, 1.0)))
    tracking.close()
    runs = runs_of(tracking.uri).values()
    assert not [run for (run,) in runs if "speedup" in run.data.metrics]
