"""MlflowTracking: one MLflow run for a study, a nested one for each trial; one for a full run.

Records go into a journal first and to MLflow then, so that a server which is down, or dies, costs
no trial and no record. MLflow itself is imported when the first record is sent, see mlflow_runs.
"""

from __future__ import annotations

import http.client
import itertools
import os
import shlex
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from hotlap.hidden import hidden
from hotlap.programs import program
from reports.journal import Entry, Journal, places
from reports.mlflow_runs import MlflowRuns
from reports.mlflow_uri import URI_VARIABLE, artifacts_beside, is_server, is_writable, tracking_uri
from reports.tracking import Record, finite

CHECK_S = 3.0
"""A tracking server that has not answered by then is down."""

DOWN = (502, 503, 504)
"""What a gateway answers for a server that is not there."""

FLUSH_STEPS = 100
FLUSH_S = 10.0
"""A full run's numbers are sent after so many steps or seconds, whichever comes first."""


class MlflowTracking:
    """Keeps records in MLflow.

    Args:
        folder: The study's or the full run's folder; `tracking.jsonl` is kept there.
        database: Path of the SQLite file that is used if nobody names a server and the folder's
            records are in no other one yet; its artifacts lie beside it.
        uri: The tracking URI of the config. The environment's MLFLOW_TRACKING_URI wins over it.
        experiment: MLflow's experiment.
        warn: Called with one sentence when the server fails, once, or the disk is full.
    """

    def __init__(
        self,
        folder: Path,
        database: Path,
        uri: str | None = None,
        experiment: str = "hotlap",
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self._folder = folder.resolve()
        self._experiment = experiment
        self._warn = warn or (lambda text: print(text, file=sys.stderr))
        kept = self._folder / "tracking.jsonl"
        # A folder that was moved or copied goes on where its records are.
        before = next(filter(is_writable, places(kept)), None)
        self.uri = tracking_uri(database, uri or before)
        self._shown = hidden(self.uri)
        self._journal = Journal(kept, self._shown, self._warn)
        self._runs: MlflowRuns | None = None
        self._down = False
        self._warned = False
        self._study = ""
        self._run: Record = {}
        self._steps: list[Entry] = []
        self._flushed = time.monotonic()
        if uri and os.environ.get(URI_VARIABLE, uri) != uri:
            self._warn(
                f"{URI_VARIABLE}={self._shown} is set and wins over tracking.uri={hidden(uri)}"
            )

    def study_started(self, record: Record) -> None:
        """A study begins, or goes on after a resume: what is missing of it is sent first."""
        self._study = record["study"]
        self._journal.append("study_started", _timed(record))
        self.send_missing()

    def trial(self, record: Record) -> None:
        """A trial ended. Call it between trials: it may take a moment."""
        self._keep("trial", record)

    def study_ended(self, record: Record, artifacts: Sequence[Path]) -> None:
        """The study is over; what could not be sent is tried once more."""
        self._keep("study_ended", {**record, "artifacts": [str(p.resolve()) for p in artifacts]})
        self._try_again()

    def run_started(self, record: Record) -> None:
        """A full run begins, or goes on: what is missing of it is sent first."""
        self._run = {name: record[name] for name in ("run", "study", "name") if name in record}
        self._journal.append("run_started", _timed(record))
        self.send_missing()

    def run_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """Numbers of the full run at `step`; sent in batches."""
        record = {**self._run, "step": step, "metrics": finite(metrics)}
        self._steps.append(self._journal.append("run_metrics", _timed(record)))
        if len(self._steps) >= FLUSH_STEPS or time.monotonic() - self._flushed > FLUSH_S:
            self._flush()

    def run_ended(self, record: Record, artifacts: Sequence[Path]) -> None:
        """The full run is over; `record` has its `state`, and the `metrics` of its end."""
        self._flush()
        files = [str(path.resolve()) for path in artifacts]
        self._keep("run_ended", {**self._run, **record, "artifacts": files})
        self._try_again()

    def send_missing(self) -> None:
        """Send what an earlier session could not. Nothing is there twice afterwards."""
        self._down = False
        for entries in _together(self._journal.missing()):
            self._send(entries)

    def ui_command(self) -> str:
        """What to type to look at it; for a server, the page to open."""
        if not is_server(self.uri):
            return f"{program('mlflow')} ui --backend-store-uri {shlex.quote(self._shown)}"
        page = hidden(self.uri, login="")
        run_id = self._runs.run_id(self._study) if self._runs else None
        if self._runs is None or run_id is None:
            return page
        return f"{page.rstrip('/')}/#/experiments/{self._runs.experiment_id}/runs/{run_id}"

    def close(self) -> None:
        """Send what still waits."""
        self._flush()
        self._runs = None

    def _keep(self, kind: str, record: Record) -> None:
        self._send([self._journal.append(kind, _timed(record))])

    def _flush(self) -> None:
        if self._steps:
            self._send(self._steps)
        self._steps = []
        self._flushed = time.monotonic()

    def _try_again(self) -> None:
        if self._journal.missing():
            self.send_missing()

    def _send(self, entries: list[Entry]) -> None:
        """Send `entries` of one kind and note it; a failure is a warning and they stay missing."""
        if self._down:
            return
        try:
            runs = self._open()
            if entries[0].kind == "run_metrics":
                runs.send_steps([entry.record for entry in entries])
            else:
                runs.send(entries[0].kind, entries[0].record)
        except Exception as error:  # noqa: BLE001  MLflow's, its driver's, the network's: many kinds
            # After a failure nobody knows what has arrived: the next sending looks it up anew.
            # A record that is refused for its content says nothing about the others.
            self._runs = None
            self._down = getattr(error, "error_code", "") != "INVALID_PARAMETER_VALUE"
            self._fail(f"{type(error).__name__}: {_first_line(error)}")
        except BaseException:
            self._runs = None  # Ctrl-C in the middle: what has arrived is looked up anew
            raise
        else:
            self._journal.sent(entries)

    def _open(self) -> MlflowRuns:
        if self._runs is None:
            if is_server(self.uri) and not answers(self.uri):
                raise ConnectionError(f"no answer within {CHECK_S:g} s")
            artifacts = artifacts_beside(self.uri)
            self._runs = MlflowRuns(self.uri, self._experiment, artifacts)
        return self._runs

    def _fail(self, why: str) -> None:
        if not self._warned:
            self._warn(
                f"MLflow at {self._shown} does not take the results ({why}). They are kept in "
                f"{self._folder / 'tracking.jsonl'}, and resume={self._folder} sends them as soon "
                "as MLflow answers; tracking=none goes without it."
            )
        self._warned = True


def answers(uri: str) -> bool:
    """Whether anything answers at an http(s) `uri`, if only with a refusal."""
    # Nothing secret is sent, and a certificate that only MLflow is told to trust is no outage.
    trusting = ssl._create_unverified_context()
    try:
        parts = urlsplit(uri)
        host = parts.netloc.rpartition("@")[2]  # urllib would take a user for a part of it
        health = urlunsplit((parts.scheme, host, f"{parts.path.rstrip('/')}/health", "", ""))
        urllib.request.urlopen(health, timeout=CHECK_S, context=trusting).close()
    except urllib.error.HTTPError as refusal:
        refusal.close()
        return refusal.code not in DOWN
    except (OSError, ValueError, http.client.HTTPException):
        return False
    return True


def _together(entries: list[Entry]) -> Iterator[list[Entry]]:
    """Neighbours that may go in one sending: the steps of one full run. All others go alone."""
    for run, group in itertools.groupby(entries, _steps_of):
        if run:
            yield list(group)
        else:
            yield from ([entry] for entry in group)


def _steps_of(entry: Entry) -> str:
    return str(entry.record["run"]) if entry.kind == "run_metrics" else ""


def _timed(record: Record) -> dict[str, Any]:
    return {**record, "time_ms": int(time.time() * 1e3)}


def _first_line(error: Exception) -> str:
    text = hidden(str(error).strip())
    return text.splitlines()[0][:200] if text else "no message"
