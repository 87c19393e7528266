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


ACCURACY = """
def accuracy():
    n = 0
    WITHOUT
        for x, y in LOADER:
            n += 1
            assert n <= 9, "the evaluation does not end"
            with torch.no_grad():
                model(x)
    print(n, file=open("evaluated.txt", "a"))

while True:
    for i, (x, y) in enumerate(loader):
        TOP
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        BOTTOM
    END
"""
NOW_AND_THEN = "if i % 10 == 9: accuracy()"


@pytest.mark.parametrize(
    "change",
    [
        {"BOTTOM": NOW_AND_THEN},
        {"BOTTOM": NOW_AND_THEN, "WITHOUT": "with torch.no_grad():"},
        {"TOP": NOW_AND_THEN},
        {"BOTTOM": "if i == 5: break", "END": "accuracy()"},
        {"BOTTOM": NOW_AND_THEN, "LOADER": "other"},
    ],
    ids=["beside", "without gradients", "top", "broken off", "made at the same line"],
)
def test_an_evaluation_on_the_training_loader_ends(scripts, change):
    text = TRAINING.replace("loader = Data", "loader, other = [Data").replace(
        "shuffle=True)", "shuffle=True) for _ in range(2)]"
    )
    text += ACCURACY
    default = {"WITHOUT": "if True:", "LOADER": "loader", "TOP": "", "BOTTOM": "", "END": ""}
    for word, line in (default | change).items():
        text = text.replace(word, line)
    found = scripts.run(text, side="compute")
    assert found.outcome == "ok", found.traceback
    numbers = (scripts.folder / "evaluated.txt").read_text().split()
    assert numbers and {"8", "9"} >= set(numbers)


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
