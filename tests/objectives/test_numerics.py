from typing import Any

import pytest
import torch
from torch import nn

from hotlap.settings import Settings
from objectives import accepts, same_data

BASE = [2.0, 1.5, 1.2, 1.0, 0.9]


def test_bit_equal_losses_are_accepted_for_every_class() -> None:
    for kind in ("exact", "rounding", "precision"):
        assert accepts(BASE, [BASE, BASE], kind)[0]


def test_exact_refuses_the_last_bit_and_names_the_step() -> None:
    winner = [*BASE[:3], 1.0000000000000002, 0.9]
    fits, why = accepts(winner, [BASE, BASE], "exact")
    assert not fits
    assert why.endswith("its loss at step 4 is 1.0000000000000002 instead of 1.0")


def test_exact_demands_no_more_than_the_baseline_repeats_itself() -> None:
    other = [loss * (1 + 1e-7) for loss in BASE]
    third = [loss * (1 - 1e-7) for loss in BASE]
    assert accepts(third, [BASE, other], "exact")[0]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_is_refused(bad: float) -> None:
    fits, why = accepts([2.0, bad], [BASE], "precision")
    assert not fits and "step 2" in why
    assert not accepts(BASE, [[2.0, bad]], "precision")[0]


def test_another_first_loss_is_refused_by_rounding_and_taken_by_precision() -> None:
    winner = [2.02, *BASE[1:]]
    fits, why = accepts(winner, [BASE], "rounding")
    assert not fits and "first loss" in why
    assert accepts(winner, [BASE], "precision")[0]


def test_chaos_in_single_steps_is_no_reason_to_refuse() -> None:
    assert accepts([2.0, 1.5, 1.5, 0.7, 0.9], [BASE], "rounding")[0]


def test_training_that_learns_less_is_refused() -> None:
    fits, why = accepts([2.0, 1.9, 1.9, 1.9, 1.9], [BASE], "precision")
    assert not fits and "mean loss of 5 steps" in why


def test_wide_repeats_of_the_baseline_widen_the_bound() -> None:
    wide = [2.0, 1.9, 1.7, 1.5, 1.3]
    winner = [2.0, 1.8, 1.5, 1.3, 1.1]
    assert not accepts(winner, [BASE], "rounding")[0]
    assert accepts(winner, [BASE, wide], "rounding")[0]


def test_nothing_to_compare_is_an_error() -> None:
    for losses, repeats, kind in (([], [BASE], "exact"), (BASE, [], "exact"), (BASE, [BASE], "x")):
        with pytest.raises(ValueError, match="nothing to compare"):
            accepts(losses, repeats, kind)


def test_losses_are_compared_over_the_same_batches() -> None:
    winner = Settings(num_workers=4, in_order=False, persistent_workers=True, amp="bf16")
    assert same_data(winner, Settings()) == Settings(amp="bf16")


def train(lr: float = 0.05, last: bool = False, bf16: bool = False) -> list[float]:
    torch.manual_seed(0)
    model: Any = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))  # fmt: skip
    inputs, targets = torch.randn(20, 8, 3, 16, 16), torch.randint(0, 4, (20, 8))
    inputs[:, :, 0] += targets[:, :, None, None] - 1.5
    if last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    losses = []
    for x, y in zip(inputs, targets, strict=True):
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_real_training_is_accepted_in_another_layout_and_refused_with_another_learning_rate() -> (
    None
):
    baseline = [train(), train()]
    assert accepts(train(), baseline, "exact")[0]
    assert not accepts(train(bf16=True), baseline, "exact")[0]
    assert accepts(train(last=True), baseline, "rounding")[0]
    assert accepts(train(bf16=True), baseline, "precision")[0]
    assert not accepts(train(lr=0.005), baseline, "precision")[0]


def test_a_larger_first_update_is_refused_though_the_losses_do_not_show_it_yet() -> None:
    fits, why = accepts(BASE, [[*BASE[:4], 0.90001]], "precision", 1.5, [1.0])
    assert not fits and "first update's size is 1.5 and the baseline's 1:" in why
    other = [[*BASE[:4], 0.90001]]
    assert accepts(BASE, other, "precision", 1.08, [1.0])[0]
    assert not accepts(BASE, other, "rounding", 1.08, [1.0])[0]
    assert accepts(BASE, other, "rounding", 1.08, [1.0, 1.07])[0]
    assert accepts(BASE, other, "rounding", None, [None])[0]


def test_a_loss_that_crosses_zero_is_measured_by_its_usual_size() -> None:
    critic = [1e-4, -0.8, 0.7, -0.6, 0.6]
    other = [critic[0] + 0.01, *critic[1:]]
    assert accepts(other, [critic], "precision")[0]
    assert not accepts([critic[0] + 0.1, *critic[1:]], [critic], "precision")[0]
