"""What passes the gate of a script whose batches come otherwise with a winner's way of loading."""

import pytest
from simulated import Watching

from hotlap.job import Job, Window
from hotlap.settings import Settings
from objectives import Throughput, accepts, same_data
from search_spaces import Knob, numerics_class
from studies import Gate, Lab

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        {sample}

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.2), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(100):
    for x in DataLoader(Rows(), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
"""
PLAIN = "return torch.full((8,), i / 64)"
MISPLACED = "return torch.full((8,), (i + (get_worker_info() is not None)) / 64)"
"""As with a file that the workers read at each other's place."""
AUGMENTED = "return torch.full((8,), i / 64) + torch.rand(())"


@pytest.fixture
def gate(runner, tmp_path):
    def gate(sample):
        (tmp_path / "train.py").write_text(SCRIPT.format(sample=sample))
        script = {"target": str(tmp_path / "train.py"), "is_module": False, "args": []}
        script |= {"cwd": str(tmp_path), "own": {}, "override": []}
        lab = Lab(
            runner, Job("", window=Window(), script=script), tmp_path, Throughput(), Watching()
        )
        knobs = [Knob("num_workers", ("?",), numerics="exact")]
        return Gate(
            lab,
            Settings(),
            lambda settings: numerics_class(settings, Settings(), knobs),
            12,
            accepts=accepts,
            same_data=same_data,
        )

    return gate


def test_samples_that_workers_read_otherwise_are_refused(gate):
    reason = gate(MISPLACED)(Settings(num_workers=1), 300)
    assert "its batch 1 is another one than the baseline's" in reason
    assert "its way of loading changes what is trained" in reason


def test_the_same_samples_are_proven_to_the_bit(gate):
    passing = gate(PLAIN)
    assert passing(Settings(num_workers=2), 300) == ""
    assert "bit for bit" in passing.compared


def test_augmented_samples_are_seen_to_be_sound(gate):
    passing = gate(AUGMENTED)
    assert passing(Settings(num_workers=2), 300) == ""
    assert passing.compared.startswith("only its way of loading differs")
