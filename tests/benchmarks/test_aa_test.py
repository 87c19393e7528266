import math
import os
import subprocess
import sys
import time

import psutil
import pytest

from benchmarks.aa_test import Answer, summary, wrong
from benchmarks.neighbour import Neighbour
from hotlap.measurement import Rate
from tests.conftest import ROOT


def answer(value, half, n_rounds=5):
    return Answer(Rate(value, value - half, value + half), n_rounds, 0.1)


def test_a_difference_where_there_is_none_is_wrong_and_an_interval_that_misses_too():
    answers = [answer(1.0, 0.02), answer(1.1, 0.02), answer(0.9, 0.02)]
    assert wrong("noisy", answers) == 2
    assert wrong("known", [answer(1.49, 0.02), answer(1.4, 0.02), answer(1.6, 0.02)]) == 2
    assert "said faster 1 of 3, slower 1; the interval holds 1 in 1 of 3" in summary(
        "quiet", answers
    )


def test_an_interval_without_ends_holds_nothing():
    one_round = Answer(Rate(1.0, 0.0, math.inf), 1, 0.1)
    assert wrong("quiet", [one_round]) == 1


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


@pytest.mark.slow
def test_it_runs_and_says_what_it_found():
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.aa_test", "--kinds", "known"),
            *("--studies", "1", "--rounds", "2"),
        ],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert "known: said faster" in done.stdout, done.stdout + done.stderr
