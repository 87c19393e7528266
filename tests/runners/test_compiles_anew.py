"""Where a study's trials compile: a place of the study's own, which goes when the study goes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hotlap.job import Job
from hotlap.scratch_place import PREFIX
from runners.process import COMPILED, ProcessRunner
from tests.conftest import QUICK, ROOT

HERE = Path(__file__).parent


@pytest.mark.parametrize("named", [None, "mine"])
def test_a_study_compiles_anew_unless_the_user_names_a_place(tmp_path, monkeypatch, named):
    if named is not None:
        monkeypatch.setenv(COMPILED, str(tmp_path / named))
    else:
        monkeypatch.delenv(COMPILED, raising=False)
    report = tmp_path / "report"
    args = {"report": str(report)}
    job = Job("misbehaving.says_where_it_compiles", args, {}, QUICK, import_path=(str(HERE),))
    with ProcessRunner(preload=["torch"], compiles_anew=True) as runner:
        assert runner.run(job, tmp_path / "0", lambda event: False, 60).outcome == "ok"
        place = Path(report.read_text())
        if named is not None:
            assert place == tmp_path / named
            return
        assert place.is_dir()
        (place / "a_kernel.so").touch()
        with ProcessRunner(compiles_anew=True) as other:  # a study beside it takes nothing away
            assert Path(other._env[COMPILED]) != place
        assert (place / "a_kernel.so").exists()
    assert not place.exists()


TUNER = """
import os, sys
from runners.process import COMPILED, ProcessRunner
runner = ProcessRunner(compiles_anew=True)
print(runner._env[COMPILED], flush=True)
sys.stdin.read()
"""


def test_what_a_killed_tuner_has_compiled_is_removed_by_the_next_study(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop(COMPILED, None)
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", TUNER], cwd=ROOT, env=env, **streams) as tuner:
        place = Path(tuner.stdout.readline().strip())
        (place / "ab").mkdir()
        (place / "ab" / "a_kernel.so").touch()
        tuner.send_signal(signal.SIGKILL)
    assert place.name.startswith(PREFIX) and place.is_dir()
    with ProcessRunner(compiles_anew=True, env={}):
        assert not place.exists()


def test_a_runner_that_is_closed_holds_no_lock_any_more():
    n_open = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        ProcessRunner(compiles_anew=True, env={}).close()
    assert len(os.listdir("/proc/self/fd")) == n_open
