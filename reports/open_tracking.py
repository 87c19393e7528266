"""Tracking by the name that the config gives it."""

from __future__ import annotations

from pathlib import Path

from hotlap.errors import UserInputError
from hotlap.settings import near
from reports.mlflow_tracking import MlflowTracking
from reports.no_tracking import NoTracking
from reports.tracking import Tracking

NAMES = ("mlflow", "none")


def open_tracking(name: str, folder: Path, uri: str | None, experiment: str) -> Tracking:
    """The tracking `name` for the study or full run in `folder`.

    Without a server its SQLite file lies two folders up, so that all studies below `outputs` can
    be compared.

    Raises:
        UserInputError: There is no tracking of this name.
    """
    if name == "none":
        return NoTracking()
    if name == "mlflow":
        database = folder.absolute().parents[1] / "mlflow.db"
        return MlflowTracking(folder, database, uri, experiment)
    raise UserInputError(
        f"tracking.name: there is no tracking '{name}'{near(name, NAMES)}; "
        f"write tracking={' or tracking='.join(NAMES)}"
    )
