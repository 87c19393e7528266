"""The loader alone and the model alone, in a script."""

import pytest

from tests.hotlap.script.found import ok
from tests.hotlap.script.script_texts import TRAINING

FEW_READS = """
from torch.utils.data import TensorDataset
class Few(TensorDataset):
    n_read = 0
    def __getitem__(self, i):
        Few.n_read += 1
        assert Few.n_read <= 64, "the loader is asked for more"
        return super().__getitem__(i)
"""


def test_the_model_alone_asks_the_loader_for_nothing_more(scripts):
    text = FEW_READS + TRAINING.replace("TensorDataset(", "Few(") + "train(100_000)"
    measured = ok(scripts.run(text, side="compute"))
    assert sum(block.samples for block in measured.blocks) > 64
    assert scripts.run(text).outcome == "crash"


def test_it_does_so_of_a_loader_that_is_gone_through_anew_for_each_step(scripts):
    text = FEW_READS + TRAINING.replace("TensorDataset(", "Few(").replace(
        "for x, y in loader:", "for x, y in [next(iter(loader))]:"
    )
    measured = ok(scripts.run(text + "train(100_000)", side="compute"))
    assert sum(block.samples for block in measured.blocks) > 64


ACCUMULATES = """
n = 0
while True:
    for x, y in loader:
        n += 1
        nn.functional.mse_loss(model(x), y).backward()
        if n < 7 or n % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
"""

IN_PAIRS = """
while True:
    for (x, y), (z, _) in zip(loader, loader):
        optimizer.zero_grad()
        (nn.functional.mse_loss(model(x), y) + model(z).square().mean()).backward()
        optimizer.step()
"""


@pytest.mark.parametrize("loop", [ACCUMULATES, IN_PAIRS], ids=["accumulates", "in pairs"])
def test_it_does_so_where_a_step_takes_several_batches_and_from_several_passes(scripts, loop):
    """Each batch is 8 samples: 16 are read before the kept ones have all that a step asks for."""
    text = FEW_READS.replace("64", "128") + TRAINING.replace("TensorDataset(", "Few(")
    ok(scripts.run(text + loop, side="compute"))


def test_the_loader_alone_calls_no_model(scripts):
    few = "n_calls += 1; assert n_calls <= 3; loss = nn"
    text = TRAINING.replace("loss = nn", few).replace("def train(", "n_calls = 0\ndef train(")
    text = (
        text.replace("    for epoch in", "    global n_calls\n    for epoch in") + "train(100_000)"
    )
    measured = ok(scripts.run(text, side="loader"))
    assert measured.side == "loader" and sum(block.steps for block in measured.blocks) > 3
    assert scripts.run(text).outcome == "crash"


def test_a_script_without_a_loader_has_no_sides(scripts):
    text = "import torch\np = torch.ones(1, requires_grad=True)\no = torch.optim.SGD([p], 0.1)\n"
    text += "while True:\n    (p * p).sum().backward()\n    o.step()"
    assert scripts.run(text, side="loader").outcome == "invalid"
    assert scripts.run(text, side="compute").outcome == "invalid"
