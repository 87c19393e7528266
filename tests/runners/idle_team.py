"""A workload that tells how its idle OpenMP threads wait. Read by workers, not collected."""

import resource
import time
from pathlib import Path

import torch
from misbehaving import good

IDLE_S = 1.0


def tells_its_idle_cpu(report):
    """Writes to the file `report`: CPU seconds of the process while its main thread slept."""
    workload = good()
    loss = workload.loss

    def sleeps_after_a_parallel_region(model, batch):
        if not Path(report).exists():
            rows = torch.ones(1 << 20)
            rows.add_(rows)  # long enough for torch to share it out among the team
            before = _cpu_s()
            time.sleep(IDLE_S)
            Path(report).write_text(f"{torch.get_num_threads()} {_cpu_s() - before}")
        return loss(model, batch)

    workload.loss = sleeps_after_a_parallel_region
    return workload


def _cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
