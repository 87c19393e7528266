"""MlflowRuns: writes records into MLflow as runs. The only file that imports MLflow.

Every method may be called again with the same record and changes nothing then: a run is found by
its tags, and MLflow takes the same parameter, tag or metric point twice.
"""

from __future__ import annotations

import getpass
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reports.mlflow_limits import MAX_NOTE, about, key_text, note_text, param_text, tag_text
from reports.mlflow_quiet import quiet
from reports.text import assignments

MAX_BATCH = 1_000
"""Metrics of one request."""
MAX_PAGE = 500
"""Runs of one answer to a search."""

KIND = {"mlflow.experimentKind": "custom_model_development"}
"""The experiment's tag that makes MLflow 3 show its table of runs, not that of agents' traces."""

NOTE = "mlflow.note.content"
"""The tag that MLflow shows as a run's description, in Markdown."""

STANDS = re.compile(r"^\*\*.*\*\*, a study of hotlap[.:]", re.MULTILINE)
"""How the sentence begins that says where a study stands; a finished one has a table in its place.
The other half of it is in reports/tracking.py."""

SHARED = ("workload", "fact.", "version.")
"""How the tags begin that a study shares with its trials."""

STATUS = {"ok": "FINISHED", "pruned": "FINISHED", "interrupted": "KILLED", "finished": "FINISHED"}
"""Outcome or state -> MLflow's sign before a run; every other one is FAILED. A killed run has the
same red cross as a failed one, and a pruned trial has not failed."""


class MlflowRuns:
    """One experiment on one tracking server or database.

    Args:
        uri: MLflow's tracking URI.
        experiment: Its name; it is created if it is not there.
        artifacts: Where a new experiment keeps its files, a URI; None lets the server choose.

    Raises:
        Exception: Whatever MLflow, its database driver or the connection raise; every method may.
    """

    def __init__(self, uri: str, experiment: str, artifacts: str | None = None) -> None:
        with quiet():
            from mlflow import MlflowClient

            self._client: Any = MlflowClient(tracking_uri=uri)
            found = self._client.get_experiment_by_name(experiment)
            if found is None:
                self.experiment_id = self._client.create_experiment(experiment, artifacts, KIND)
            else:
                self.experiment_id = found.experiment_id
                if found.lifecycle_stage == "deleted":
                    self._client.restore_experiment(found.experiment_id)
        self._ids: dict[tuple[str, ...], str] = {}
        self._known: set[tuple[str, str]] = set()
        self._shared: dict[str, dict[str, Any]] = {}

    def send(self, kind: str, record: Mapping[str, Any]) -> None:
        """Write one record; `kind` is a journal entry's."""
        with quiet():
            getattr(self, f"_{kind}")(record)

    def send_steps(self, records: list[Mapping[str, Any]]) -> None:
        """Write many `run_metrics` records of one full run in few requests."""
        from mlflow.entities import Metric

        metrics = [
            Metric(key_text(name), value, record["time_ms"], record["step"])
            for record in records
            for name, value in record["metrics"].items()
        ]
        with quiet():
            run_id = self._full_run(records[0])
            for i in range(0, len(metrics), MAX_BATCH):
                self._client.log_batch(run_id, metrics=metrics[i : i + MAX_BATCH])

    def run_id(self, study: str) -> str | None:
        """MLflow's id of the study's own run, if it is known here."""
        return self._ids.get(("study", study))

    def _study_started(self, record: Mapping[str, Any]) -> None:
        run_id = self._study(record)
        note = f"**{record['workload']}**, a study of hotlap. It is not finished yet."
        note = self._below_the_table(run_id, note)
        shared = self._shared[record["study"]] = about(record)
        self._log(run_id, record, {**shared, NOTE: note})
        self._client.update_run(run_id, status="RUNNING")

    def _trial(self, record: Mapping[str, Any]) -> None:
        study, trial = record["study"], str(record["trial"])
        parent = self._study(record)
        tags = {
            "hotlap.study": study,
            "hotlap.trial": trial,
            "mlflow.parentRunId": parent,
            "kind": record["kind"],
            "outcome": record["outcome"],
            "changed": assignments(record["changed"]),
            **({"reason": record["reason"]} if record["reason"] else {}),
        }
        run_id = self._run(("trial", study, trial), record["name"], record, tags)
        self._log(run_id, record, self._shared.get(study))
        self._end(run_id, record, record["outcome"])

    def _study_ended(self, record: Mapping[str, Any]) -> None:
        run_id = self._study(record)
        tags = {"outcome": record["state"]}
        if "note" in record:
            finished = record["state"] == "finished"
            note = record["note"]
            tags[NOTE] = note if finished else self._below_the_table(run_id, note)
        if "changed" in record:
            # Not as parameters: MLflow never changes those, and a resumed study may find better.
            tags["changed"] = assignments(record["changed"])
        self._log(run_id, record, tags)
        self._send_files(run_id, record)
        self._end(run_id, record, record["state"])

    def _below_the_table(self, run_id: str, sentence: str) -> str:
        """The `sentence` on where a study stands, below the table of an earlier session if any.

        What that has found still holds, whatever becomes of a session that goes on.
        """
        described = self._client.get_run(run_id).data.tags.get(NOTE, "")
        table = STANDS.split(described, maxsplit=1)[0].strip()
        room = MAX_NOTE - len(sentence) - 2
        if not table or room <= 0:
            return sentence
        return f"{note_text(table, room)}\n\n{sentence}"

    def _run_started(self, record: Mapping[str, Any]) -> None:
        run_id = self._full_run(record)
        self._log(run_id, record, about(record))
        self._client.update_run(run_id, status="RUNNING")

    def _run_metrics(self, record: Mapping[str, Any]) -> None:
        self.send_steps([record])

    def _run_ended(self, record: Mapping[str, Any]) -> None:
        run_id = self._full_run(record)
        self._log(run_id, record)
        self._send_files(run_id, record)
        self._end(run_id, record, record["state"])

    def _study(self, record: Mapping[str, Any]) -> str:
        study = record["study"]
        return self._run(("study", study), study, record, {"hotlap.study": study, "kind": "study"})

    def _full_run(self, record: Mapping[str, Any]) -> str:
        run = record["run"]
        tags = {"hotlap.run": run, "kind": "full run"}
        if record.get("study"):
            tags["hotlap.study"] = record["study"]
        return self._run(("run", run), record.get("name", run), record, tags)

    def _run(
        self, key: tuple[str, ...], name: str, record: Mapping[str, Any], tags: dict[str, str]
    ) -> str:
        """The id of the run with this key; it is created if MLflow does not have it yet."""
        tag = "hotlap.run" if key[0] == "run" else "hotlap.study"
        self._learn(tag, key[1])
        if key not in self._ids:
            tags = {**tags, "mlflow.user": _user(), "mlflow.source.type": "LOCAL"}
            tags["mlflow.source.name"] = "train.py" if key[0] == "run" else "tune.py"
            run = self._client.create_run(
                self.experiment_id,
                start_time=record["time_ms"] - _wall_ms(record),
                tags={key_text(n): tag_text(v) for n, v in tags.items()},
                run_name=param_text(name),
            )
            self._ids[key] = run.info.run_id
        return self._ids[key]

    def _learn(self, tag: str, value: str) -> None:
        """Once for each study or full run: which of its runs does MLflow have already?"""
        if (tag, value) in self._known:
            return
        quote = "'" if '"' in value else '"'
        wanted = f"tags.`{tag}` = {quote}{value}{quote}"
        token = None
        while True:
            page = self._client.search_runs(
                [self.experiment_id], wanted, max_results=MAX_PAGE, page_token=token
            )
            for run in page:
                key = _key_of(run.data.tags)
                self._ids.setdefault(key, run.info.run_id)
                if key[0] == "study":
                    self._shared[value] = {
                        n: v for n, v in run.data.tags.items() if n.startswith(SHARED)
                    }
            token = page.token
            if not token:
                break
        self._known.add((tag, value))

    def _log(
        self, run_id: str, record: Mapping[str, Any], tags: Mapping[str, Any] | None = None
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        settings = record.get("settings", {}).items()
        metrics = record.get("metrics", {}).items()
        at = record.get("step", 0)  # a full run's end comes after all its steps
        self._client.log_batch(
            run_id,
            metrics=[
                Metric(key_text(n), math.nan if v is None else v, record["time_ms"], at)
                for n, v in metrics
            ],
            params=[Param(key_text(n), param_text(v)) for n, v in settings],
            tags=[
                RunTag(key_text(n), note_text(v) if n == NOTE else tag_text(v))
                for n, v in (tags or {}).items()
            ],
        )

    def _send_files(self, run_id: str, record: Mapping[str, Any]) -> None:
        for path in record["artifacts"]:
            if Path(path).is_file():
                self._client.log_artifact(run_id, path)

    def _end(self, run_id: str, record: Mapping[str, Any], how: str) -> None:
        self._client.set_terminated(run_id, STATUS.get(how, "FAILED"), record["time_ms"])


def _key_of(tags: Mapping[str, str]) -> tuple[str, ...]:
    if "hotlap.run" in tags:
        return ("run", tags["hotlap.run"])
    if "hotlap.trial" in tags:
        return ("trial", tags["hotlap.study"], tags["hotlap.trial"])
    return ("study", tags["hotlap.study"])


def _wall_ms(record: Mapping[str, Any]) -> int:
    """A trial's record is made at its end; it began so many milliseconds earlier."""
    return int(record["metrics"].get("wall_s", 0) * 1e3) if "trial" in record else 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
