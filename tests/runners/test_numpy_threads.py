"""`intraop_threads` holds for numpy too, whose BLAS the fork server loads before any trial."""

import os
import sys
from pathlib import Path

import pytest

from hotlap.job import Job
from runners.process import ProcessRunner
from tests.conftest import QUICK

HERE = Path(__file__).parent


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core has one thread in any case")
def test_numpy_computes_with_as_many_threads_in_a_trial_as_in_the_full_run(tmp_path):
    env = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    started = {}
    with ProcessRunner(preload=["torch"], env=env) as runner:
        for n_threads in (None, 1):
            report = tmp_path / f"{n_threads}"
            job = Job(
                "misbehaving.counts_numpys_threads",
                {"report": str(report)},
                {"intraop_threads": n_threads},
                QUICK,
                import_path=(str(HERE),),
            )
            told = runner.run(job, tmp_path / f"{n_threads}-trial", lambda event: False, 120)
            assert told.outcome == "ok", told.traceback
            started[n_threads] = int(report.read_text())
    if started[None] == 0:
        pytest.skip("numpy's BLAS has no threads here")
    assert started[1] == 0
