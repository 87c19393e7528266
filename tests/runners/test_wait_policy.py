"""The OpenMP wait policy as its effect is seen from outside: idle threads that spin, or sleep."""

import os
from pathlib import Path

import pytest

from hotlap.job import Job, Window
from runners.process import ProcessRunner

HERE = Path(__file__).parent
QUICK = Window(max_s=0.2, min_s=0.05, block_s=0.02, max_warmup_s=0.0)


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="libgomp never spins with fewer cores than threads"
)
def test_idle_threads_spin_with_active_and_sleep_with_passive(tmp_path):
    idle_cpu_s = {}
    with ProcessRunner(preload=["torch"]) as runner:
        for policy in ("active", "passive"):
            report = tmp_path / policy
            job = Job(
                "idle_team.tells_its_idle_cpu",
                {"report": str(report)},
                {"omp_wait_policy": policy, "intraop_threads": 2},
                QUICK,
                import_path=(str(HERE),),
            )
            told = runner.run(job, tmp_path / f"{policy}-trial", lambda event: False, 120)
            assert told.outcome == "ok", told.traceback
            n_threads, cpu_s = report.read_text().split()
            assert n_threads == "2"
            idle_cpu_s[policy] = float(cpu_s)
    # A spinning thread takes all of a core that it can get, a sleeping one some microseconds.
    assert idle_cpu_s["active"] > 0.05
    assert idle_cpu_s["active"] > 3 * idle_cpu_s["passive"], idle_cpu_s
