"""Which GPU is watched, where no GPU is: trials that only tell on which device they run."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from hotlap.job import Job
from runners import process
from runners.process import ProcessRunner

BLOCK = {"event": "block", "t": 2.0, "steps": 1, "samples": 1, "seconds": 1.0, "data_wait_s": 0.0}


def facts(device, uuid=None):
    return {"event": "facts", "t": 1.0, "facts": {"device": device}, "device_uuid": uuid}


def built(device, uuid=None):
    return {"event": "built", "t": 1.0, "device": device, "device_uuid": uuid}


@pytest.fixture
def watched(monkeypatch, tmp_path):
    """Runs trials with these first events; says which GPUs were asked for others, and followed."""
    asked, followed = [], []

    @contextmanager
    def gpu_watch():
        yield SimpleNamespace(
            others=lambda device: asked.append(device) or {"gpu_other_processes": 1.0},
            follow=followed.append,
            means=lambda *times: {"gpu_power_w": 300.0},
        )

    class Told:
        traceback, outside = "", False

        def __init__(self, server, job, folder, watch, deadline, timeout_s):
            self.events, self._watch = [job.run["told"], BLOCK], watch

        def follow(self):
            assert [self._watch(event) for event in self.events] == [False, False]
            return "ok", ""

    monkeypatch.setattr(process, "GpuWatch", gpu_watch)
    monkeypatch.setattr(process, "Trial", Told)
    monkeypatch.setattr(ProcessRunner, "_server", lambda *_: (SimpleNamespace(start_s=0.0), False))

    def watched(*trials, kind="window", **args):
        runner = ProcessRunner()
        for n, told in enumerate(trials):
            job = Job("any.workload", args, run={"told": told}, kind=kind)
            run = runner.run(job, tmp_path / str(n), lambda event: False, 10)
        return asked, followed, run.measurement.gpu

    return watched


def test_a_script_is_watched_where_it_says_that_it_trains(watched):
    asked, followed, gpu = watched(facts("cuda:1"), built("cuda:1"))
    assert (asked, followed) == ([1], [1, 1])
    assert gpu == {"gpu_other_processes": 1.0, "gpu_power_w": 300.0}


def test_a_device_is_known_by_its_uuid_where_torch_tells_it(watched):
    asked, followed, _ = watched(facts("cuda:0", "aa11"), built("cuda:0", "aa11"))
    assert (asked, followed) == (["aa11"], ["aa11", "aa11"])


def test_the_first_gpu_is_one_like_any_other(watched):
    assert watched(built("cuda"), built("cuda:0"), device="cuda:1")[0] == [1, 0]


def test_no_gpu_is_watched_for_what_trains_on_the_cpu(watched):
    asked, followed, gpu = watched(facts("cpu"), built("cpu"))
    assert (asked, followed) == ([], [])
    assert "gpu_other_processes" not in gpu


def test_no_gpu_is_watched_for_a_full_run(watched):
    """Its readings, ten a second, would be kept for weeks, and nobody asks for them."""
    told = built("cuda:1")
    assert watched(told, told, kind="full_run", device="cuda:1") == ([], [], {})
