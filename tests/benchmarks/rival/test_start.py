import dataclasses
import os
import select
import subprocess
import sys

import pytest

from benchmarks.rival import start
from hotlap.settings import NEEDS_WORKERS, Settings


def test_the_judge_has_each_of_our_settings_with_the_same_default():
    assert start.DEFAULT == dataclasses.asdict(Settings())
    assert set(start.OF_WORKERS) == set(NEEDS_WORKERS)


def test_settings_that_do_the_same_are_equal():
    assert start.changed({"prefetch_factor": 8, "amp": "none", "num_workers": 0}) == {}
    one = start.changed({"persistent_workers": True, "num_workers": 2})
    assert one == {"num_workers": 2, "persistent_workers": True}


def test_a_name_that_is_unknown_is_refused():
    with pytest.raises(ValueError, match="the judge has no setting workers"):
        start.complete({"workers": 2})


def test_nobody_inherits_threads_or_allocators():
    mine = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "LD_PRELOAD": "x", "PATH": "/bin"}
    assert start.clean(mine) == {"PATH": "/bin"}


def test_what_a_process_reads_at_its_start_is_in_its_environment():
    assert start.variables({"num_workers": 4}) == {}
    found = start.variables({"omp_wait_policy": "passive", "cuda_alloc_conf": "a:b"})
    assert found["OMP_WAIT_POLICY"] == "PASSIVE" and found["GOMP_SPINCOUNT"] == "0"
    assert found["PYTORCH_CUDA_ALLOC_CONF"] == "a:b"


def test_an_allocator_that_is_not_there_fails_the_block(monkeypatch):
    monkeypatch.setattr(start.ctypes.util, "find_library", lambda name: None)
    with pytest.raises(start.BlockFailed, match="libjemalloc is not on this machine"):
        start.variables({"allocator": "jemalloc"})


def test_a_block_that_ends_with_an_error_says_its_last_line(tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'RuntimeError: no bf16' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(start.BlockFailed, match="^RuntimeError: no bf16$"):
        start.measure("convnet", {}, 1.0, str(broken))


def test_a_command_that_is_late_is_ended_with_its_children(tmp_path, monkeypatch):
    """The child holds a pipe's end until it dies; it is late as soon as it has it."""
    pipe = tmp_path / "pipe"
    start.os.mkfifo(pipe)
    child = "f = open('pipe', 'w'); import time; time.sleep(600)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    communicate, opened = subprocess.Popen.communicate, []

    def late_once(process, timeout=None):
        if not opened:
            opened.append(pipe.open())
            raise subprocess.TimeoutExpired("it", 1.0)
        return communicate(process, timeout=timeout)

    monkeypatch.setattr(subprocess.Popen, "communicate", late_once)
    with pytest.raises(subprocess.TimeoutExpired):
        start.run([sys.executable, "-c", code], tmp_path, {}, 600.0)
    with opened[0] as end:
        assert end.read() == ""  # comes when nobody holds the other end


def test_a_command_that_ends_well_leaves_no_process_behind(tmp_path):
    """What it leaves behind holds a pipe's end, and nothing of its output."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    leaves = "exec 9>pipe; sleep 600 >/dev/null 2>&1 & echo done"
    done = start.run(["sh", "-c", leaves], tmp_path, {}, 600.0)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert select.select([end], [], [], 60)[0], "it still holds the pipe"
    os.close(end)
