"""A study goes on only with the workload that it began with."""

import json

import pytest

from tests.conftest import MY_JOB
from tests.short_study import LIGHT, MINE, ONE_SERVER, folders

pytestmark = pytest.mark.slow

QUICK = ["tracking=none", "n_trials=1"]
SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rows = TensorDataset(torch.randn(256, 8), torch.randn(256, 1))
model = nn.Sequential(nn.Linear(8, 32), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(int(1e6)):
    for x, y in DataLoader(rows, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""


def refused(tune, cwd, folder):
    """What is told where the study in the folder does not go on; it is left as it was."""
    kept = {name: (folder / name).read_text() for name in ("facts.json", "frozen.yaml")}
    trials = sorted((folder / "trials").iterdir())
    code, out, err = tune(cwd, f"resume={folder}", "n_trials=2")
    assert code == 2, out + err
    assert "Traceback" not in out + err
    assert {name: (folder / name).read_text() for name in kept} == kept
    assert sorted((folder / "trials").iterdir()) == trials
    return err


def test_a_study_of_a_changed_workload_is_refused(users_folder, tune, done):
    done(users_folder, *MINE, *ONE_SERVER, *QUICK)
    (folder,) = folders(users_folder)
    (users_folder / "my_job.py").write_text(MY_JOB.replace("256", "1024"))
    told = refused(tune, users_folder, folder)
    assert "the workload has changed since this study began (16 batches an epoch, now 64)" in told
    assert "tune.py --config-dir" in told and "+model=make" in told


def test_a_script_may_change_as_long_as_what_it_trains_does_not(tmp_path, tune, done):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    done(tmp_path, "script=train.py", *ONE_SERVER, *LIGHT, *QUICK)
    (folder,) = folders(tmp_path)
    n_trials = len(list((folder / "trials").iterdir()))
    path.write_text(f"# a remark, which trains nothing\n{SCRIPT}")
    done(tmp_path, f"resume={folder}")
    assert len(list((folder / "trials").iterdir())) > n_trials
    assert json.loads((folder / "facts.json").read_text())["n_parameters"] == 321
    path.write_text(SCRIPT.replace("32", "4"))
    told = refused(tune, tmp_path, folder)
    assert "the workload has changed since this study began (321 parameters, now 41)" in told
    assert "start a new study: " in told and "script=train.py" in told
