"""The model alone, on kept batches: they come as the loader gave them, whatever a script does."""

import pytest

from tests.hotlap.script.script_texts import TRAINING

ONES = TRAINING.replace("torch.randn(64, 8)", "torch.ones(64, 8)")
LOOP = """
    for x, y in loader:
        assert x.eq(1).all() and x.shape == (8, 8) and not x.requires_grad, x
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        {change}
"""


@pytest.mark.parametrize(
    "change",
    [
        "x.add_(1)",
        "x.requires_grad_().sum().backward()",
        "x.unsqueeze_(0)",
        "x.mul_(next(model.parameters()).sum())",
        "pass",
    ],
)
def test_a_batch_that_the_script_writes_to_comes_again_as_it_was(scripts, change):
    text = ONES + "\nwhile True:" + LOOP.format(change=change)
    found = scripts.run(text, side="compute")
    assert found.outcome == "ok", found.traceback
    assert found.measurement.samples_per_step == 8


def test_a_batch_that_the_script_takes_apart_comes_again_whole(scripts):
    text = (
        TRAINING
        + """
def collate(samples):
    return {"x": torch.stack([x for x, _ in samples]), "y": [y for _, y in samples]}

while True:
    for batch in DataLoader(rows, batch_size=8, collate_fn=collate):
        y = torch.stack([batch["y"].pop() for _ in range(8)])
        optimizer.zero_grad()
        nn.functional.mse_loss(model(batch.pop("x")), y).backward()
        optimizer.step()
"""
    )
    found = scripts.run(text, side="compute")
    assert found.outcome == "ok", found.traceback
