"""tune.py on scripts that fail: whatever the settings, or with some of them."""

import json
import os

import psutil
import pytest
import torch

from hotlap import frozen
from tests.short_study import LIGHT, trials

SCRIPT = """
import torch
from torch import nn

net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rows = torch.load("data/rows-that-do-not-exist.pt")
"""


@pytest.mark.slow
def test_it_stops_after_one_run_and_shows_the_scripts_own_error(tmp_path, tune):
    (tmp_path / "train.py").write_text(SCRIPT)
    words = "script=train.py budget=2m tracking=none bank=none runner.preload=[torch]".split()
    code, out, err = tune(tmp_path, *words)
    assert code == 1
    said = out + err
    assert "FileNotFoundError" in said and "data/rows-that-do-not-exist.pt" in said
    assert 'train.py", line 7' in said and "No trial was run" in said
    (folder,) = (tmp_path / "outputs" / "train").iterdir()
    assert not (folder / "trials").exists()


FAILS_BY_WORKERS = """
import contextlib, os, threading
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, get_worker_info

lock = threading.Lock()
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release)
with contextlib.suppress(Exception):  # from now on no forked process may use it, GPU or not
    torch.cuda.init()

class Rows(TensorDataset):
    def __getitem__(self, i):
        n_workers = getattr(get_worker_info(), "num_workers", 0)
        if n_workers == 1:
            lock.acquire()  # whoever forks holds it, as a thread does by chance: nobody releases it
        if n_workers == 2:
            torch.cuda.init()  # as a row does that lies on the GPU
        return *super().__getitem__(i), n_workers == 3

loader = DataLoader(Rows(torch.randn(256, 8), torch.randn(256, 1)), batch_size=8)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
n = 0
while True:
    for x, y, overflows in loader:
        optimizer.zero_grad()
        scaler.scale(nn.functional.mse_loss(model(x), y)).backward()
        n += 1
        if overflows.any() and n % 4:
            model.weight.grad[0] = torch.inf
        scaler.step(optimizer)
        scaler.update(4.0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
def test_what_hangs_crashes_or_hardly_trains_with_some_settings_does_not_win(tmp_path, done):
    (tmp_path / "train.py").write_text(FAILS_BY_WORKERS)
    space = (
        "search_space=[dataloader] search_space.num_workers.choices=[0,1,2,3] "
        "~search_space.prefetch_factor ~search_space.persistent_workers"
    )
    # Each is tried to its end; a hang is one after seconds, which nothing else takes.
    words = [*space.split(), *LIGHT, "pruner=none", "window.first_step_s=8", "n_trials=4"]
    out = " ".join(done(tmp_path, "script=train.py", *words, "tracking=none", "bank=none").split())
    (folder,) = (tmp_path / "outputs" / "train").iterdir()
    tried = {t.user_attrs["settings"]["num_workers"]: t.user_attrs for t in trials(folder)}
    ended = [(tried[n]["outcome"], tried[n]["reason"]) for n in range(4)]
    assert [outcome for outcome, _ in ended] == ["ok", "timeout", "crash", "diverged"], ended
    on_cuda = torch.backends.cuda.is_built()
    told = (
        "no training was seen within window.first_step_s=8 s of the script's start",
        "re-initialize CUDA in forked" if on_cuda else "not compiled with CUDA",
        "the script's own GradScaler skipped",
    )
    for words, (_, reason) in zip(told, ended[1:], strict=True):
        assert words in reason and reason in out

    (hung,) = (folder / "trials").glob(f"{tried[1]['number']:04d}")
    where = (hung / "worker.log").read_text()
    assert 'train.py", line' in where and 'dataloader.py", line' in where  # it waits for a batch
    left = [one for server in psutil.Process().children() for one in server.children()]
    assert left == []

    result = json.loads((folder / "result.json").read_text())
    assert result["n_outcomes"] == {"ok": 1, "timeout": 1, "crash": 1, "diverged": 1}
    assert frozen.load_frozen(folder / "frozen.yaml").provenance["tuned"] == []
