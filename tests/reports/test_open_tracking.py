"""Where a study's records are without a server, and where they stay. Real MLflow on SQLite."""

import shutil
from pathlib import Path

import pytest

from reports.open_tracking import open_tracking
from tests.reports.told import runs_of, tell_a_study

# MLflow's own dependencies warn when they are imported; hotlap cannot mend that.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::PendingDeprecationWarning"
)


def opened(folder, uri=None):
    warned = []
    tracking = open_tracking("mlflow", folder, uri, "hotlap", warned.append)
    assert warned == []
    return tracking


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        ("outputs/resnet50/1", "outputs"),
        ("elsewhere/../outputs/resnet50/1", "outputs"),
        ("/outputs/resnet50/1", "/outputs"),
        ("mnt/resnet50/1", "mnt/resnet50/1"),
        ("outputs/1", "outputs/1"),
        ("/study", "/study"),
        ("/mnt/study", "/mnt/study"),
    ],
)
def test_a_database_lies_in_outputs_or_with_the_study(tmp_path, monkeypatch, folder, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    assert opened(Path(folder)).uri == f"sqlite:///{tmp_path / place}/mlflow.db"


@pytest.fixture
def study(tmp_path, empty_database, measurement):
    """A study in outputs, with its records in the database there."""
    folder = tmp_path / "outputs" / "resnet50" / "1"
    folder.mkdir(parents=True)
    shutil.copy(empty_database, tmp_path / "outputs" / "mlflow.db")
    tell_a_study(opened(folder), measurement)
    return folder


def test_a_study_that_is_copied_goes_on_in_its_database(study, tmp_path, measurement):
    copy = shutil.copytree(study, tmp_path / "mnt" / "copy")
    tracking = opened(copy)
    tell_a_study(tracking, measurement, trials=[2])
    assert len(runs_of(tracking.uri)) == 4
    assert list(tmp_path.rglob("mlflow.db")) == [tmp_path / "outputs" / "mlflow.db"]
    other = opened(copy, f"sqlite:///{tmp_path}/named.db")
    assert other.uri.endswith("/named.db")  # what somebody names wins


def test_where_its_database_is_gone_all_of_its_records_go_into_another_one(
    study, tmp_path, empty_database, measurement
):
    moved = Path(shutil.move(study, tmp_path / "mnt"))
    (tmp_path / "outputs" / "mlflow.db").unlink()
    shutil.copy(empty_database, moved / "mlflow.db")
    tracking = opened(moved)
    tell_a_study(tracking, measurement, trials=[2])
    assert tracking.uri == f"sqlite:///{moved}/mlflow.db"
    assert len(runs_of(tracking.uri)) == 4
