"""Windows in scripts of all kinds, each in a process of its own."""

import pytest

from hotlap.job import Window
from tests.hotlap.script.found import events, ok
from tests.hotlap.script.script_texts import TRAINING


def test_a_plain_loop_is_timed(scripts):
    measured = ok(scripts.run(TRAINING + "train(100_000)"))
    assert measured.samples_per_step == 8
    assert measured.n_epoch_steps == 8
    assert measured.samples_per_s > 0


@pytest.mark.parametrize("num_workers", [0, 2])
def test_what_is_imposed_is_in_force(scripts, num_workers):
    text = TRAINING.replace("batch_size=8,", "batch_size=8, num_workers=1,")
    found = scripts.run(text + "train(100_000)", settings={"num_workers": num_workers})
    ok(found)
    assert events(found, "built")[0]["num_workers"] == num_workers


def test_what_the_script_has_by_itself_is_not_imposed(scripts):
    text = TRAINING.replace("batch_size=8,", "batch_size=8, num_workers=1,")
    own = {"num_workers": 1}
    found = scripts.run(text + "train(100_000)", settings={"num_workers": 1}, own=own)
    ok(found)
    assert events(found, "built")[0]["notes"] == []


def test_a_setting_that_found_nothing_is_noted(scripts):
    found = scripts.run(TRAINING + "train(100_000)", settings={"memory_format": "channels_last"})
    ok(found)
    assert [n["setting"] for n in events(found, "built")[0]["notes"]] == ["memory_format"]


def test_a_script_without_a_loader_is_measured_in_steps(scripts):
    text = """
    import torch
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    while True:
        loss = model(torch.randn(3, 4)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    """
    measured = ok(scripts.run(text))
    assert measured.samples_per_step == 1
    assert measured.n_epoch_steps is None


OWN_STEPS = """
while True:
    for x, y in batches:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize("batches", ["list(loader)", "[next(iter(loader))]"])
def test_a_script_that_asks_its_loader_for_nothing_more_is_measured_in_steps(scripts, batches):
    text = TRAINING + f"batches = {batches}" + OWN_STEPS
    measured = ok(scripts.run(text))
    assert measured.samples_per_step == 1 and measured.n_epoch_steps is None
    assert scripts.facts(text)["loader"] is False


def test_one_that_goes_through_its_first_pass_again_has_its_samples(scripts):
    text = TRAINING + "from itertools import cycle; batches = cycle(loader)" + OWN_STEPS
    assert ok(scripts.run(text)).samples_per_step == 8


def test_one_batch_for_good_is_seen_at_once_where_workers_are_kept(scripts):
    text = (
        TRAINING
        + """
x, y = next(iter(loader))
for _ in range(200):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
    )
    found = scripts.run(text, settings={"num_workers": 1, "persistent_workers": True})
    assert ok(found).samples_per_step == 1


def test_two_optimizers_and_accumulation_count_batches(scripts):
    text = (
        TRAINING
        + """
other = torch.optim.Adam(model.parameters())
while True:
    for i, (x, y) in enumerate(loader):
        nn.functional.mse_loss(model(x), y).backward()
        if i % 4 == 3:
            optimizer.step()
            other.step()
"""
    )
    assert ok(scripts.run(text)).samples_per_step == 8


def test_an_evaluation_between_epochs_does_not_count(scripts):
    text = (
        TRAINING
        + """
import time
while True:
    train(1)
    with torch.no_grad():
        model(torch.randn(4, 8))
    time.sleep(0.25)
"""
    )
    measured = ok(scripts.run(text, window=Window(max_s=0.2, min_s=0.05, block_s=0.01)))
    # Eight steps and a pause take 0.25 s and more, eight steps alone a few milliseconds.
    assert measured.samples_per_s > 2 * 64 / 0.25


def test_a_loader_that_only_the_loop_holds(scripts):
    text = TRAINING.replace("for x, y in loader:", "for x, y in DataLoader(rows, 16):")
    measured = ok(scripts.run(text + "train(100_000)"))
    assert measured.samples_per_step == 16
    assert measured.n_epoch_steps == 4
