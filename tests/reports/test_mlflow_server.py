"""Real MLflow over HTTP: against a closed port, and against a server that is killed midway."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from reports.mlflow_tracking import MlflowTracking, answers
from reports.tracking import ended_record, trial_record
from tests.reports.told import TUNED, closed_port, runs_of, tell_a_study

# MLflow's own dependencies warn when they are imported; hotlap cannot mend that.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::PendingDeprecationWarning"
)


def test_a_closed_port_costs_one_sentence_and_no_record(tmp_path, measurement, database):
    warnings: list[str] = []
    uri = f"http://127.0.0.1:{closed_port()}"
    tracking = MlflowTracking(tmp_path, database, uri=uri, warn=warnings.append)
    tell_a_study(tracking, measurement)
    tracking.study_ended(ended_record("s1", "finished"), [])
    tracking.close()
    [sentence] = warnings
    assert uri in sentence
    assert f"resume={tmp_path}" in sentence
    assert tracking.ui_command() == uri

    later = MlflowTracking(tmp_path, database, warn=warnings.append)
    later.send_missing()
    assert len(warnings) == 1
    assert len(runs_of(later.uri)) == 3


@pytest.mark.parametrize("with_port", [False, True])
def test_a_password_is_in_nothing_that_is_shown_or_kept(tmp_path, database, measurement, with_port):
    warnings: list[str] = []
    port = f":{closed_port()}" if with_port else ""
    uri = f"http://me:secret@127.0.0.1{port}"
    tracking = MlflowTracking(tmp_path, database, uri=uri, warn=warnings.append)
    tell_a_study(tracking, measurement)
    tracking.close()
    [sentence] = warnings
    assert f"MLflow at http://***@127.0.0.1{port} does not take" in sentence
    assert "ConnectionError: no answer within 3 s" in sentence
    kept = (tmp_path / "tracking.jsonl").read_text()
    assert "secret" not in sentence + tracking.ui_command() + kept
    assert tracking.ui_command() == f"http://127.0.0.1{port}"


def test_a_databases_password_is_not_shown_either(tmp_path, database, measurement, monkeypatch):
    warnings: list[str] = []
    uri = "nothing+here://me:secret@127.0.0.1/mlflow"  # MLflow says the whole of what it refuses
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    tracking = MlflowTracking(tmp_path, database, "http://you:other@b", warn=warnings.append)
    tell_a_study(tracking, measurement)
    assert len(warnings) == 2
    said = " ".join([*warnings, tracking.ui_command()])
    assert "secret" not in said and "other" not in said
    assert "MLFLOW_TRACKING_URI=nothing+here://***@127.0.0.1/mlflow is set" in said
    assert "mlflow ui --backend-store-uri 'nothing+here://***@127.0.0.1/mlflow'" in said


def test_a_server_that_takes_calls_and_never_answers_is_down():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        assert not answers(f"http://127.0.0.1:{server.getsockname()[1]}")


class Server:
    """A real MLflow server on a free port of this machine."""

    def __init__(self, folder: Path, database: Path) -> None:
        self._folder, self._database = folder, database
        self.served = folder / "served"
        self.port = closed_port()
        self.uri = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--workers", "1"]
        command += ["--port", str(self.port), "--backend-store-uri", f"sqlite:///{self._database}"]
        command += ["--artifacts-destination", str(self.served)]
        with (self._folder / "server.log").open("a") as log:
            self._process = subprocess.Popen(
                command,
                env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + 120
        while not self._healthy():
            assert self._process.poll() is None, (self._folder / "server.log").read_text()
            assert time.monotonic() < deadline, (self._folder / "server.log").read_text()
            time.sleep(0.2)

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.uri}/health", timeout=1):
                return True
        except OSError:
            return False


@pytest.fixture(scope="module")
def server(tmp_path_factory, empty_database):
    """One for all tests: it takes ten seconds to start. Each test has an experiment of its own."""
    folder = tmp_path_factory.mktemp("server")
    server = Server(folder, Path(shutil.copy(empty_database, folder)))
    server.start()
    yield server
    server.kill()


@pytest.mark.slow
def test_a_server_that_is_named_with_a_user_and_a_password_is_there(
    server, tmp_path, database, measurement
):
    warnings: list[str] = []
    named = server.uri.replace("://", "://me:secret@")
    tracking = MlflowTracking(tmp_path, database, named, "named", warnings.append)
    tell_a_study(tracking, measurement)
    assert warnings == []
    assert len(runs_of(server.uri, "named")) == 3
    page = tracking.ui_command()
    assert page.startswith(f"{server.uri}/#/experiments/")
    assert "secret" not in (tmp_path / "tracking.jsonl").read_text() + page


@pytest.mark.slow
def test_a_server_that_dies_midway_gets_what_is_missing_when_it_is_back(
    server, tmp_path, database, measurement
):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "frozen.yaml").write_text("settings: {}\n")
    warnings: list[str] = []
    tracking = MlflowTracking(folder, database, server.uri, warn=warnings.append)
    tell_a_study(tracking, measurement, trials=[0])
    assert tracking.ui_command().startswith(f"{server.uri}/#/experiments/")
    assert warnings == []

    server.kill()
    for number in (1, 2):
        tracking.trial(trial_record("s1", number, TUNED, "ok", measurement))
    tracking.trial(trial_record("s1", 3, TUNED, "crash", reason="boom"))
    tracking.study_ended(ended_record("s1", "finished"), [folder / "frozen.yaml"])
    tracking.close()
    assert len(warnings) == 1

    server.start()
    for _ in range(2):
        resumed = MlflowTracking(folder, database, server.uri, warn=warnings.append)
        resumed.send_missing()
        resumed.close()
    assert len(warnings) == 1
    runs = runs_of(server.uri)
    assert {name: len(found) for name, found in runs.items()} == {
        "s1": 1,
        "0 workers=2 channels_last": 1,
        "1 workers=2 channels_last": 1,
        "2 workers=2 channels_last": 1,
        "3 crash workers=2 channels_last": 1,
    }
    assert runs["s1"][0].info.status == "FINISHED"
    assert list(server.served.rglob("frozen.yaml"))
