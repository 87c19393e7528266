"""What a person sees: progress, the final table, result.json, MLflow."""

from reports.mlflow_tracking import MlflowTracking
from reports.no_tracking import NoTracking
from reports.observer import StudyObserver
from reports.open_tracking import open_tracking, study_that_ends
from reports.progress import Progress
from reports.result import Arm, Contribution, Ratio, Result, write_json
from reports.screen import console
from reports.table import markdown, print_result
from reports.tracking import Tracking, ended_record, run_record, study_record, trial_record
from reports.training import TrainingProgress

__all__ = [
    "Arm",
    "Contribution",
    "MlflowTracking",
    "NoTracking",
    "Progress",
    "Ratio",
    "Result",
    "StudyObserver",
    "Tracking",
    "TrainingProgress",
    "console",
    "ended_record",
    "markdown",
    "open_tracking",
    "print_result",
    "run_record",
    "study_record",
    "study_that_ends",
    "trial_record",
    "write_json",
]
