"""Workers for scripts that write their environment before they import torch."""

import json
import os
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

import hotlap
from hotlap.scratch_place import PREFIX, bases
from runners.marked import MARK
from runners.server import Server

STAND_IN = """
import sys, types

def main(folder):
    import ctypes, json, multiprocessing, os, signal
    told = {"torch": "torch" in sys.modules, "path": sys.path, "pid": os.getpid()}
    told |= {"group": os.getpgrp(), "session": os.getsid(0), "environment": dict(os.environ)}
    told["interrupt"] = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    told["prefix"] = multiprocessing.current_process()._config["semprefix"]
    told["files"] = [os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)]
    told["n_files"] = len(os.listdir("/proc/self/fd")) - 1
    number = ctypes.c_int()
    ctypes.CDLL(None).prctl(2, ctypes.byref(number), 0, 0, 0)
    told["death_signal"] = number.value
    (folder / "told.json").write_text(json.dumps(told))
    print("said by the script")
    exec((folder / "code").read_text())
    return 7

sys.modules["hotlap.script.worker"] = types.ModuleType("hotlap.script.worker")
sys.modules["hotlap.script.worker"].main = main
"""
"""Runs as `sitecustomize` at the start of each interpreter."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("path")
    (folder / "sitecustomize.py").write_text(STAND_IN)
    # A module whose import changes the environment, as some do.
    (folder / "loud.py").write_text("import os; os.environ['LOUD'] = '1'")
    env = {**os.environ, "PYTHONPATH": str(folder), "MINE": "a b"}
    env.pop("OMP_NUM_THREADS", None)
    server = Server(["loud"], env, time.monotonic() + 200)
    yield server
    server.close()


@pytest.fixture
def start(server, tmp_path):
    def start(code="", job=None):
        (tmp_path / "job.json").write_text(json.dumps(job or {"script": {"fresh": True}}))
        (tmp_path / "code").write_text(textwrap.dedent(code))
        return server.start(tmp_path, time.monotonic() + 60)

    return start


def status(server, pid):
    deadline = time.monotonic() + 60
    while (found := server.wait_gone(pid, 0.1)) is None and time.monotonic() < deadline:
        pass
    return found


def test_it_is_the_servers_process_in_all_but_torch(server, start, tmp_path):
    pid = start()
    assert status(server, pid) == 7, (tmp_path / "worker.log").read_text()
    told = json.loads((tmp_path / "told.json").read_text())
    log = str(tmp_path / "worker.log")
    assert not told["torch"]
    assert told["pid"] == told["group"] == told["session"] == pid
    assert told["path"][-1] == str(Path(hotlap.__file__).parents[1])
    assert "" not in told["path"]
    assert told["environment"][MARK] == server._mark
    assert told["environment"]["MINE"] == "a b" and "LOUD" not in told["environment"]
    assert told["prefix"] == f"/hotlap-{pid}"
    assert told["files"] == [os.devnull, log, log]
    assert told["n_files"] == 3
    assert told["death_signal"] == signal.SIGKILL
    assert told["interrupt"]
    assert "said by the script" in (tmp_path / "worker.log").read_text()


def test_torch_hears_what_the_script_writes_before_its_import(server, start, tmp_path):
    pid = start("""
        import os
        os.environ["OMP_NUM_THREADS"] = "1"
        import torch
        (folder / "threads").write_text(str(torch.get_num_threads()))
    """)
    assert status(server, pid) == 7, (tmp_path / "worker.log").read_text()
    assert (tmp_path / "threads").read_text() == "1"


def test_an_error_is_in_the_log_and_the_exit_code(server, start, tmp_path):
    assert status(server, start("1 / 0")) == 1
    assert "ZeroDivisionError" in (tmp_path / "worker.log").read_text()


@pytest.mark.parametrize("job", [{"script": {"fresh": False}}, {"workload": "x", "script": {}}])
def test_other_jobs_do_not_start_anew(server, start, tmp_path, job):
    assert status(server, start(job=job)) == 1  # hotlap.worker finds no job of its own kind here
    assert "hotlap/worker.py" in (tmp_path / "worker.log").read_text()
    assert not (tmp_path / "told.json").exists()


WRITES = """
    import os, time
    from hotlap.scratch import scratch
    os.chdir(folder / "working")
    covered = scratch(folder / "working")
    if covered.why_not:
        (folder / "why_not").write_text(covered.why_not)
    else:
        open("checkpoint", "w").write("1" * 100_000)
        (folder / "written").touch()
        time.sleep(600)
"""


def place_of_a_trial(start, folder):
    for name in ("working", "keep"):
        (folder / name).mkdir()
    pid = start(WRITES)
    assert wait_until((folder / "written").exists, or_else=(folder / "why_not").exists)
    if (folder / "why_not").exists():
        pytest.skip((folder / "why_not").read_text())
    (place,) = (path for base in bases() for path in Path(base).glob(f"{PREFIX}{pid}-*"))
    return pid, place


def wait_until(condition, or_else=lambda: False):
    deadline = time.monotonic() + 60
    while not (condition() or or_else()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition() or or_else()


def test_the_server_removes_a_killed_trials_scratch_copy(server, start, tmp_path):
    pid, place = place_of_a_trial(start, tmp_path)
    server.kill(pid)
    assert status(server, pid) == -signal.SIGKILL
    assert wait_until(lambda: not place.exists())
    assert not list((tmp_path / "working").iterdir())


def test_it_does_so_when_the_tuner_is_gone(server, start, tmp_path):
    _, place = place_of_a_trial(start, tmp_path)
    server.let_go()  # what a killed tuner's server hears
    assert wait_until(lambda: not place.exists())
