import contextlib
import select
import subprocess
import sys
import time

import psutil

from benchmarks.neighbour import Neighbour
from tests.conftest import ROOT


def test_a_neighbour_comes_and_goes_and_leaves_nothing_behind():
    me = psutil.Process()
    before = set(me.children())
    with Neighbour(2, seed=1) as neighbour:
        deadline = time.monotonic() + 120
        while len(set(me.children()) - before) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(set(me.children()) - before) == 2
    assert set(me.children()) <= before
    assert not neighbour._thread.is_alive()


HAS_A_NEIGHBOUR = """
import sys
from benchmarks.neighbour import Neighbour

with Neighbour(2, seed=1):
    sys.stdin.read()
"""


def test_a_neighbour_does_not_outlive_the_process_that_has_it():
    """Its loops hold the pipe to which it writes: that ends when nobody does."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", HAS_A_NEIGHBOUR]
    with subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe) as killed:
        deadline = time.monotonic() + 120
        while len(loops := psutil.Process(killed.pid).children()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        killed.kill()
        try:
            assert select.select([killed.stdout], [], [], 60)[0], "they are still busy"
        finally:
            for loop in loops:
                with contextlib.suppress(psutil.NoSuchProcess):
                    loop.kill()
