"""Workloads that behave well, or badly in one way each. Read by workers, not collected as tests."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, get_worker_info

from hotlap.workload import Workload

LOCK = threading.Lock()


class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((8,), float(i) / 64), i % 2


class DiesInWorker(Rows):
    def __getitem__(self, i):
        if get_worker_info() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(i)


class BusyForEver(Rows):
    def __getitem__(self, i):
        if get_worker_info() is not None:
            while True:
                pass
        return super().__getitem__(i)


class NeedsLock(Rows):
    def __getitem__(self, i):
        with LOCK:
            return super().__getitem__(i)


def _loss(model, batch):
    x, y = batch
    return nn.functional.cross_entropy(model(x), y)


def _workload(dataset=None, loss=_loss):
    return Workload(
        model=nn.Linear(8, 2),
        dataset=dataset or Rows(),
        loss=loss,
        optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.1, **kernel),
        batch_size=8,
    )


def good():
    return _workload()


def seen_modules(report):
    """Writes what the worker has imported by the first step to the file `report`."""

    def loss(model, batch):
        if not os.path.exists(report):
            with open(report, "w") as file:
                file.write("\n".join(sys.modules))
        return _loss(model, batch)

    return _workload(loss=loss)


def says_where_it_compiles(report):
    Path(report).write_text(os.environ.get("TORCHINDUCTOR_CACHE_DIR", ""))
    return _workload()


def counts_numpys_threads(report):
    """Writes to the file `report` how many threads a product of numpy has started."""
    before = len(os.listdir("/proc/self/task"))
    ones = np.ones((512, 512))
    ones @ ones
    Path(report).write_text(str(len(os.listdir("/proc/self/task")) - before))
    return good()


def raises():
    raise FileNotFoundError("data/rows-that-do-not-exist.pt")


def wrong_type():
    return 3


def exits():
    os._exit(7)


def segfaults():
    os.kill(os.getpid(), signal.SIGSEGV)


def dies_of_a_signal_without_a_name():
    os.kill(os.getpid(), 37)


def fills(file):
    """Takes all the room of the disk that `file` lies on, and then cannot even say so."""

    def loss(model, batch):
        with open(file, "ab", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass

    return _workload(loss=loss)


def talks(n_lines):
    """Prints so many lines of a hundred characters at its start, and trains."""
    print("the first line")
    for i in range(n_lines):
        print(f"{i:<99}")
    print("the last line", flush=True)
    return _workload()


def large():
    """Has a checkpoint of more than a megabyte."""
    workload = _workload()
    workload.model = nn.Sequential(nn.Linear(8, 40_000), nn.Linear(40_000, 2))
    return workload


class NeverCome(Rows):
    def __init__(self, report):
        self.report = report

    def __getitem__(self, i):
        open(self.report, "w").close()
        while True:
            time.sleep(0.01)


def waits_for_ever(report):
    """Its samples never come; the file `report` is there when one was asked for."""
    return _workload(NeverCome(report))


def out_of_memory():
    def loss(model, batch):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    return _workload(loss=loss)


def diverges():
    return _workload(loss=lambda model, batch: _loss(model, batch) * float("nan"))


def dies_in_worker():
    return _workload(DiesInWorker())


def busy_for_ever():
    return _workload(BusyForEver())


def fork_with_a_lock_held():
    def hold():
        with LOCK:
            time.sleep(3600)

    threading.Thread(target=hold, daemon=True).start()
    time.sleep(0.05)
    return _workload(NeedsLock())


def leaves_processes(report):
    """Starts a process that leaves the trial's group, and one that ignores SIGTERM."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    escaped = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    stayed = subprocess.Popen([sys.executable, "-c", code])
    with open(report, "w") as file:
        file.write(f"{escaped.pid} {stayed.pid}")
    return _workload()
