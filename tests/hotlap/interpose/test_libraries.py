"""The libraries themselves, where they are installed: what imitates them elsewhere is as they are.

A script trains with kept workers and with what it has by itself imposed on model and optimizer, and
in a trial: its losses are the plain script's to the bit.
"""

from importlib.util import find_spec

import pytest

from tests.hotlap.interpose.conftest import ENDLESS, WATCHED, losses

MODEL = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rows = TensorDataset(torch.randn(72, 8), torch.randn(72, 1))
loader = DataLoader(rows, batch_size=8, shuffle=True)
held_out = DataLoader(rows, batch_size=24)
network = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.2), nn.Linear(16, 1))
"""
ACCELERATE = """
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
model, optimizer, loader, held_out = accelerator.prepare(network, optimizer, loader, held_out)
for epoch in range(2):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        print("loss", loss.item().hex())
    model.eval()
    with torch.no_grad():
        for x, y in held_out:
            print("evaluation", nn.functional.mse_loss(model(x), y).item().hex())
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("accelerate") is None, reason="accelerate is not installed")
def test_accelerate_s_losses_are_the_plain_script_s(runs, scripts):
    script = scripts.write(MODEL + ACCELERATE)
    plain, ours = runs.plain(script), runs.hotlap(WATCHED, script)
    assert plain.returncode == ours.returncode == 0, plain.stderr + ours.stderr
    whole = losses(plain.stdout)
    assert len(whole) >= 2 * (9 + 3)
    assert losses(ours.stdout) == whole and "hotlap: " not in ours.stderr
    trial = scripts.run(target=str(script), window=ENDLESS, timeout_s=250)
    assert trial.outcome in ("ok", "invalid"), trial.traceback  # too short for a rate, perhaps
    assert losses((trial.folder / "worker.log").read_text()) == whole
