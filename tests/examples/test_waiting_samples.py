"""The example starts with the command that stands in it, and its workload is what it says."""

import itertools
import re
import shlex
import sys

import pytest
import torch
from torch.utils.data import DataLoader

from conf.cli import main
from conf.workload import job_of
from hotlap.apply import apply
from hotlap.inspect_workload import sample_times, spawn_error
from hotlap.settings import Settings
from hotlap.worker import build
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "waiting_samples"


@pytest.fixture
def workload(monkeypatch):
    """What a worker builds for the command in the example's docstring."""
    (line,) = re.findall(r"python tune\.py .*", (EXAMPLE / "waiting_job.py").read_text())
    monkeypatch.chdir(ROOT)
    configs = []
    assert (
        main(shlex.split(line)[2:], "config", lambda config, text: configs.append(config) or 0) == 0
    )
    (config,) = configs
    assert config.budget == "3m"
    monkeypatch.setattr(sys, "path", [*config.import_path, *sys.path])
    torch.manual_seed(0)
    yield build(*job_of(config))
    sys.modules.pop("waiting_job")


def test_the_example_trains(workload):
    applied = apply(workload, Settings(num_workers=2))
    batches = itertools.islice(applied.loader, 30)
    losses = [float(applied.step(batch)) for batch in batches]
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])


def test_its_samples_wait_and_any_start_method_may_fetch_them(workload):
    cpu_s, wall_s = sample_times(DataLoader(workload.dataset))
    assert wall_s >= 0.003 and cpu_s < wall_s / 2
    assert spawn_error(workload) == ""
