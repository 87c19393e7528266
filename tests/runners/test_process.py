import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from hotlap.job import Job, Window
from runners.process import ProcessRunner
from tests.conftest import QUICK, ROOT

HERE = Path(__file__).parent

LONG = Window(max_s=60, precision=1e-9)


@pytest.fixture
def run(runner, tmp_path):
    folders = (tmp_path / f"trial {i}" for i in itertools.count())

    def run(name, settings=None, window=QUICK, watch=lambda event: False, timeout_s=120, **args):
        job = Job(
            f"misbehaving.{name}",
            args,
            settings or {},
            window,
            import_path=(str(HERE),),
        )
        return runner.run(job, next(folders), watch, timeout_s)

    return run


def gone(pid):
    """Whether the process is no more (a zombie waits for nobody's answer and counts as gone)."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_trial_is_timed_in_a_process_that_may_have_loader_workers(run, num_workers):
    found = run("good", {"num_workers": num_workers})
    assert found.outcome == "ok", found.traceback
    assert found.measurement.samples_per_s > 0
    assert found.measurement.peak_host_bytes > 2**20


def test_the_worker_imports_nothing_of_the_tuner(run, tmp_path):
    report = tmp_path / "modules"
    assert run("seen_modules", report=str(report)).outcome == "ok"
    seen = {name.partition(".")[0] for name in report.read_text().split()}
    tuner = {"optuna", "hydra", "omegaconf", "mlflow", "search_spaces", "studies", "reports"}
    assert "torch" in seen
    assert not seen & tuner


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("raises", "crash", "FileNotFoundError: data/rows-that-do-not-exist.pt"),
        ("wrong_type", "invalid", "it has to return a hotlap.Workload"),
        ("no_such_function", "invalid", "has no function no_such_function"),
        ("exits", "crash", "exit code 7"),
        ("segfaults", "crash", "SIGSEGV"),
        ("dies_of_a_signal_without_a_name", "crash", "ended with signal 37 after"),
        ("out_of_memory", "oom", "out of memory"),
        ("diverges", "diverged", "the loss became nan"),
    ],
)
def test_each_failure_has_its_outcome_and_one_readable_line(run, name, outcome, words):
    found = run(name)
    assert found.outcome == outcome
    assert words in found.reason
    assert "\n" not in found.reason


def test_a_probe_tells_the_size_of_a_batch_before_it_may_run_out_of_memory(runner, tmp_path):
    job = Job("misbehaving.out_of_memory", kind="probe", import_path=(str(HERE),))
    found = runner.run(job, tmp_path / "probe", lambda event: False, 120)
    assert found.outcome == "oom"
    assert [event["batch_size"] for event in found.events if event["event"] == "probing"] == [8]


def test_a_failure_brings_the_users_own_traceback(run):
    assert "in raises" in run("raises").traceback


def test_a_loader_worker_killed_for_memory_is_an_oom(run):
    found = run("dies_in_worker", {"num_workers": 1})
    assert found.outcome == "oom"
    assert "killed by signal: Killed" in found.reason
    assert not found.measurement.blocks


def test_a_loader_that_never_gives_a_batch_times_out_and_says_where_it_stood(run):
    window = Window(first_step_s=1.0)
    found = run("fork_with_a_lock_held", {"num_workers": 1}, window)
    assert found.outcome == "timeout"
    assert "no step was done within window.first_step_s=1 s" in found.reason
    assert "most recent call first" in found.traceback


def test_a_trial_ends_when_its_time_is_over_and_its_busy_loader_workers_with_it(run, runner):
    found = run("busy_for_ever", {"num_workers": 2}, timeout_s=3)
    assert found.outcome == "timeout"
    assert "ran out of the 3.0 s that it was given; for more, type a larger budget=" in found.reason
    assert not psutil.Process(runner.server._process.pid).children(recursive=True)


def test_a_trial_is_stopped_when_the_watch_says_so(run):
    found = run("good", window=LONG, watch=_after_three_blocks())
    assert found.outcome == "pruned"
    assert len(found.measurement.blocks) >= 3


def test_processes_that_left_the_group_end_with_the_trial(run, tmp_path):
    report = tmp_path / "pids"
    assert run("leaves_processes", report=str(report)).outcome == "ok"
    assert all(gone(int(pid)) for pid in report.read_text().split())


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="semaphores are no files here")
def test_a_killed_trial_leaves_no_semaphores_of_spawned_workers(run):
    def semaphores():
        return {path.name for path in Path("/dev/shm").glob("sem.hotlap-*")}

    before, seen = semaphores(), set()

    def stop(event):
        seen.update(semaphores() - before)
        return bool(seen)

    found = run("good", {"num_workers": 1, "multiprocessing_context": "spawn"}, watch=stop)
    assert found.outcome == "pruned" and seen, found.traceback
    assert not seen & semaphores()


def test_there_is_one_server_for_each_environment(run, runner):
    used = []
    for policy in ("default", "passive", "default", "passive"):
        assert run("good", {"omp_wait_policy": policy}).outcome == "ok"
        used.append(runner.server)
    assert used[0] is used[2] and used[1] is used[3] and used[0] is not used[1]


def test_a_server_that_was_killed_costs_one_trial_and_no_more(run, runner):
    def kill_server(event):
        if event["event"] == "block":
            runner.server._process.kill()
        return False

    found = run("good", window=LONG, watch=kill_server)
    assert found.outcome in ("oom", "crash")
    assert found.outside and "killed from outside" in found.reason
    assert run("good").outcome == "ok"


TUNER = """
import sys
from pathlib import Path
from hotlap.job import Job, Window
from runners.process import ProcessRunner
with ProcessRunner(preload=["torch"]) as runner:
    job = Job("misbehaving.busy_for_ever", {}, {"num_workers": 2}, Window(),
              import_path=(sys.argv[2],))
    watch = lambda event: print(event["event"], event.get("pid"), flush=True)
    runner.run(job, Path(sys.argv[1]), watch, 600)
"""


@pytest.mark.parametrize(
    ("number", "server_stopped"),
    [(signal.SIGINT, False), (signal.SIGKILL, False), (signal.SIGKILL, True)],
)
def test_nothing_is_left_when_the_tuner_is_interrupted_or_killed(tmp_path, number, server_stopped):
    tuner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(TUNER), str(tmp_path / "trial"), str(HERE)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    left = []
    try:
        line = tuner.stdout.readline().split()
        assert line[0] == "started"
        assert tuner.stdout.readline().startswith("built")
        worker = psutil.Process(int(line[1]))
        assert wait_until(lambda: len(worker.children()) >= 2)
        (server,) = psutil.Process(tuner.pid).children()
        left = [server, worker, *worker.children(recursive=True)]
        if server_stopped:
            server.suspend()
        tuner.send_signal(number)
        tuner.wait(30)
        assert wait_until(lambda: all(gone(process.pid) for process in left))
    finally:
        tuner.kill()
        tuner.stdout.close()
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def _after_three_blocks():
    blocks = []

    def watch(event):
        if event["event"] == "block":
            blocks.append(event)
        return len(blocks) >= 3

    return watch


def test_no_more_servers_are_kept_than_memory_is_for(tmp_path, monkeypatch):
    monkeypatch.setattr("runners.process.MAX_SERVERS", 1)
    was_served = []
    with ProcessRunner(preload=[]) as runner:
        for i, policy in enumerate(["passive", "active", "active", "passive"]):
            job = Job(
                "misbehaving.good", {}, {"omp_wait_policy": policy}, QUICK, import_path=(str(HERE),)
            )
            found = runner.run(job, tmp_path / str(i), lambda event: False, 60)
            assert found.outcome == "ok" and len(runner._servers) == 1
            was_served.append(found.served_s > 0)
    assert was_served == [True, True, False, True]  # the last one anew, for the first made room


@pytest.mark.parametrize(
    ("module", "outcome", "words", "outside"),
    [
        ("time.sleep(600)", "timeout", r"within [\d.]+ s; for more, type a larger budget=", True),
        ("os.kill(os.getpid(), 9)", "crash", "ended with code -9", True),
        ("os._exit(3)", "crash", "ended with code 3", False),  # as with an allocator that breaks it
    ],
)
def test_a_server_that_does_not_start_costs_the_trial_its_time_and_no_more(
    tmp_path, module, outcome, words, outside
):
    (tmp_path / "bad_start.py").write_text(f"import os, time\n{module}\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with ProcessRunner(preload=["bad_start"], env=env) as runner:
        job = Job("misbehaving.good", {}, {}, QUICK, import_path=(str(HERE),))
        found = runner.run(job, tmp_path / "trial", lambda event: False, timeout_s=3)
        assert (found.outcome, found.events) == (outcome, ())
        assert re.search(words, found.reason) and found.outside is outside
        assert not runner._servers


def test_the_start_of_a_server_is_no_part_of_a_trials_own_time(tmp_path):
    (tmp_path / "slow_start.py").write_text("import time\ntime.sleep(1)\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    args = {"report": str(tmp_path / "report")}
    with ProcessRunner(preload=["slow_start"], env=env) as runner:
        job = Job("misbehaving.waits_for_ever", args, {}, QUICK, import_path=(str(HERE),))
        found = runner.run(job, tmp_path / "trial", lambda event: False, 1, within_s=120)
    assert found.served_s >= 1
    assert (found.outcome, found.outside) == ("timeout", False)
    assert found.reason.startswith("the trial ran out of the 1.0 s that it was given")


def test_a_server_that_is_stopped_costs_the_trial_its_time_and_no_more(run, runner):
    assert run("good").outcome == "ok"
    server = psutil.Process(runner.server._process.pid)
    server.suspend()
    assert run("good", timeout_s=2).outcome == "timeout"
    assert gone(server.pid)
    assert run("good").outcome == "ok"
