"""What a person sees: progress, the final table, result.json, MLflow."""

from reports.arm import Arm
from reports.contribution import Contribution, Refusal
from reports.doubt import Doubt
from reports.mlflow_tracking import MlflowTracking
from reports.no_tracking import NoTracking
from reports.observer import StudyObserver
from reports.of_study import result_of
from reports.open_tracking import open_tracking, run_that_ends, study_that_ends
from reports.progress import Progress
from reports.result import Result, write_json
from reports.screen import console
from reports.script import found_in_script
from reports.table import markdown, print_result
from reports.tracking import Tracking, ended_record, run_record, study_record, trial_record
from reports.training import TrainingProgress

__all__ = [
    "Arm",
    "Contribution",
    "Doubt",
    "MlflowTracking",
    "NoTracking",
    "Progress",
    "Refusal",
    "Result",
    "StudyObserver",
    "Tracking",
    "TrainingProgress",
    "console",
    "ended_record",
    "found_in_script",
    "markdown",
    "open_tracking",
    "print_result",
    "result_of",
    "run_record",
    "run_that_ends",
    "study_record",
    "study_that_ends",
    "trial_record",
    "write_json",
]
