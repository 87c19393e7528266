"""The libraries themselves, where they are installed: what imitates them elsewhere is as they are.

A script trains with kept workers and with what it has by itself imposed on model and optimizer, and
in a trial: its losses are the plain script's to the bit.
"""

from importlib.util import find_spec

import pytest

from hotlap.interpose.reach import NOT_OURS
from tests.hotlap.interpose.conftest import ENDLESS, WATCHED, losses
from tests.hotlap.script.found import events, ok

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
for epoch in range(n_epochs):
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
LIGHTNING = """
import lightning

class Task(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x)

    def training_step(self, batch):
        loss = nn.functional.mse_loss(self(batch[0]), batch[1])
        print("loss", loss.item().hex())
        return loss

    def validation_step(self, batch):
        print("evaluation", nn.functional.mse_loss(self(batch[0]), batch[1]).item().hex())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)

    def train_dataloader(self):
        return DataLoader(rows, batch_size=8, shuffle=True)

trainer = lightning.Trainer(
    accelerator="cpu",
    max_epochs=n_epochs,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Task(), val_dataloaders=held_out)
"""
LIBRARIES = [
    pytest.param(
        text,
        id=name,
        marks=pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed"),
    )
    for name, text in (("accelerate", ACCELERATE), ("lightning", LIGHTNING))
]


@pytest.mark.slow
@pytest.mark.parametrize("text", LIBRARIES)
def test_a_library_s_losses_are_the_plain_script_s(runs, scripts, text):
    script = scripts.write("n_epochs = 2\n" + MODEL + text)
    plain, ours = runs.plain(script), runs.hotlap(WATCHED, script)
    assert plain.returncode == ours.returncode == 0, plain.stderr + ours.stderr
    whole = losses(plain.stdout)
    assert len(whole) >= 2 * (9 + 3)
    assert losses(ours.stdout) == whole
    # Lightning has both of its loaders open at once, and workers are not kept then.
    said = [line for line in ours.stderr.splitlines() if line.startswith("hotlap: ")]
    assert all("persistent_workers was not in force" in line for line in said), said
    trial = scripts.run(target=str(script), window=ENDLESS, timeout_s=250)
    assert trial.outcome in ("ok", "invalid"), trial.traceback  # too short for a rate, perhaps
    assert losses((trial.folder / "worker.log").read_text()) == whole


@pytest.mark.slow
@pytest.mark.skipif(find_spec("lightning") is None, reason="lightning is not installed")
def test_lightning_s_trainer_is_seen_as_it_is_and_measured(scripts):
    script = str(scripts.write("n_epochs = 100_000\n" + MODEL + LIGHTNING))
    facts = scripts.facts(target=script, timeout_s=250)
    seen = facts["script"]
    (loader,) = (one for one in seen["loaders"] if one["n_steps"])
    assert loader["steps_per_batch"] == 1 and "train.py:" in loader["where"]
    assert (loader["batch_size"], loader["sampler"]) == (8, "RandomSampler")
    assert [root["name"] for root in seen["roots"]] == ["Task"]
    assert [one["name"] for one in seen["optimizers"]] == ["SGD"]
    assert (seen["own"], seen["sets"]) == ({}, {})
    assert facts["unreached"].keys() - NOT_OURS.keys() == {"memory_format"}
    assert (facts["batch_size"], facts["n_epoch_steps"]) == (8, 9)

    settings = {"num_workers": 1, "optimizer_kernel": "foreach"}
    found = scripts.run(target=script, settings=settings, timeout_s=250)
    assert ok(found).samples_per_step == 8
    (built,) = events(found, "built")
    assert built["num_workers"] == 1 and built["notes"] == []
