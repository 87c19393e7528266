"""What tests tell MLflow, and what it holds then."""

import socket

from hotlap.settings import Settings
from reports.mlflow_tracking import MlflowTracking
from reports.tracking import study_record, trial_record

FACTS = {"n_cpus": 2, "gpu": {"name": "H200"}}
TUNED = Settings(num_workers=2, memory_format="channels_last")


def closed_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def runs_of(uri: str, experiment: str = "hotlap") -> dict[str, list]:
    """All runs of the experiment by their name."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    found: dict[str, list] = {}
    number = client.get_experiment_by_name(experiment).experiment_id
    for run in client.search_runs([number], max_results=500):
        found.setdefault(run.info.run_name, []).append(run)
    return found


def tell_a_study(tracking: MlflowTracking, measurement, trials=(0, 1)) -> None:
    tracking.study_started(study_record("s1", "resnet50", FACTS, {"torch": "2.14"}, "0a1b"))
    for number in trials:
        tracking.trial(trial_record("s1", number, TUNED, "ok", measurement, wall_s=9.0))
