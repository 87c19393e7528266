"""Servers in environments that are not as usual, and what stops or does not stop them."""

import os
import re
import signal
import time
from pathlib import Path

import psutil
import pytest

from hotlap.job import Job, Window
from runners import trial
from runners.process import ProcessRunner
from tests.conftest import QUICK

HERE = Path(__file__).parent
SERVERS_OWN = ("torch", "torch._dynamo", "hotlap.worker")
"""What a server imports; a module that is preloaded behind them finds its work done."""


@pytest.fixture
def run(tmp_path):
    """Runs a trial in an environment with a folder on PYTHONPATH, in which these files lie."""

    def run(name="good", preload=(), import_path=(str(HERE),), env=None, **files):
        path = tmp_path / "path"
        path.mkdir()
        for stem, text in files.items():
            (path / f"{stem}.py").write_text(text)
        env = {**os.environ, "PYTHONPATH": str(path), **(env or {})}
        job = Job(f"misbehaving.{name}", {}, {}, QUICK, import_path=import_path)
        with ProcessRunner(preload, env) as runner:
            return runner.run(job, tmp_path / "trial", lambda event: False, 200)

    return run


def test_an_interpreter_that_prints_at_its_start_is_no_answer_of_the_server(run):
    found = run(sitecustomize="print('Welcome to the cluster!'); print('{\"ready\": 1', end='')")
    assert found.outcome == "ok", found.traceback


def test_a_module_that_breaks_when_it_is_preloaded_costs_only_who_needs_it(run, tmp_path):
    broken = "raise RuntimeError('operator torchvision::nms does not exist')"
    found = run(preload=["broken", "not_there", "leaves"], broken=broken, leaves="raise SystemExit")
    assert found.outcome == "ok", found.traceback
    log = (tmp_path / "trial" / "worker.log").read_text()
    how = "failed while the fork server imported it"
    assert log.startswith(f"broken {how}: RuntimeError: operator torchvision::nms does not exist\n")
    assert f"leaves {how}: SystemExit" in log
    assert "not_there" not in log


@pytest.mark.parametrize("safe", ["", "1"])
def test_the_users_import_path_is_whole(run, safe):
    """With PYTHONSAFEPATH its first folder is the first of all."""
    text = (HERE / "misbehaving.py").read_text()
    found = run(import_path=(), env={"PYTHONSAFEPATH": safe}, misbehaving=text)
    assert found.outcome == "ok", found.traceback


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_server_leaves_it_to_the_tuner_to_end(runner, tmp_path, number):
    """And its trials hear what any process hears."""
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("whoever started these tests has made them deaf to it")
    seen = []

    def watch(event):
        seen.append(event["event"])
        if seen.count("block") == 1 and event["event"] == "block":
            server = psutil.Process(runner.server._process.pid)
            server.send_signal(number)
            for child in server.children():
                child.send_signal(number)
        return False

    window = Window(max_s=60, precision=1e-9)
    job = Job("misbehaving.good", {}, {}, window, import_path=(str(HERE),))
    found = runner.run(job, tmp_path / "0", watch, 120)
    assert found.outcome == "crash"
    name = "KeyboardInterrupt" if number == signal.SIGINT else f"ended with {number.name}"
    assert name in found.reason
    server = runner.server
    job = Job("misbehaving.good", {}, {}, QUICK, import_path=(str(HERE),))
    assert runner.run(job, tmp_path / "1", lambda event: False, 120).outcome == "ok"
    assert runner.server is server


def test_a_full_run_that_cannot_end_by_itself_is_killed_after_a_while(
    runner, tmp_path, monkeypatch
):
    monkeypatch.setattr(trial, "STOP_S", 0.5)
    seen = []

    def watch(event):
        seen.append(event["event"])
        if event["event"] == "environment":
            while not report.exists():
                time.sleep(0.01)
            raise KeyboardInterrupt
        return False

    report = tmp_path / "report"
    run = {"epochs": 1, "folder": str(tmp_path / "run")}
    job = Job(
        "misbehaving.waits_for_ever",
        {"report": str(report)},
        kind="full_run",
        run=run,
        import_path=(str(HERE),),
    )
    with pytest.raises(KeyboardInterrupt):
        runner.run(job, tmp_path / "run", watch, 120)
    assert not psutil.Process(runner.server._process.pid).children(recursive=True)
    assert seen[-1] == "stopping"


@pytest.mark.parametrize(
    ("module", "words", "outside"),
    [
        # Root has no such limit.
        (
            "import os, resource\nos.geteuid() or os.setuid(54321)\n"
            "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))",
            r"no process \(Resource temporarily unavailable\): .*`ulimit -u`",
            True,
        ),
        (
            "import os\nos.register_at_fork(before=lambda: os._exit(3))",
            "^the fork server ended with code 3 before it said 'pid'$",
            False,
        ),
    ],
)
def test_a_server_that_cannot_fork_was_not_killed_and_says_what_is_wrong(
    run, module, words, outside
):
    found = run(preload=(*SERVERS_OWN, "no_fork"), no_fork=module)
    assert (found.outcome, found.events) == ("crash", ())
    assert re.search(words, found.reason) and found.outside is outside, found.reason


def test_a_server_that_breaks_while_a_trial_runs_was_not_killed(tmp_path):
    def break_server(event):
        if event["event"] == "block":
            (server,) = runner._servers.values()
            server._process.send_signal(signal.SIGSEGV)
        return False

    window = Window(max_s=60, precision=1e-9)
    job = Job("misbehaving.good", {}, {}, window, import_path=(str(HERE),))
    with ProcessRunner(preload=["torch"]) as runner:
        found = runner.run(job, tmp_path / "trial", break_server, 120)
    assert (found.outcome, found.outside) == ("crash", False)
    assert found.reason == "the fork server ended with code -11 while the trial ran"
