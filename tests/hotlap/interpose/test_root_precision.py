"""An imposed precision: autocast in training, where the script has none of its own."""

import pytest
import torch
from torch import nn

from tests.hotlap.interpose.nets import IMAGES, Net, inputs_of, optimizer_of, train_net


def test_autocast_hands_its_outputs_back_in_float32(interpose):
    model = Net()
    seen = interpose(amp="bf16").seen
    calls = inputs_of(model.out)
    optimizer = optimizer_of(model)
    losses = [train_net(model, optimizer) for _ in range(3)]
    assert calls[0][1].dtype == torch.bfloat16
    assert model(IMAGES)["p"].dtype == torch.float32
    assert losses[2] < losses[0]
    assert seen.roots[0].refused == {}


def test_an_evaluation_runs_in_the_script_s_own_precision(interpose):
    model = Net()
    interpose(amp="bf16")
    optimizer = optimizer_of(model)
    train_net(model, optimizer)
    calls = inputs_of(model.out)
    model.eval()
    with torch.no_grad():
        model(IMAGES)
    assert calls[0][1].dtype == torch.float32


@pytest.mark.parametrize("kind", ["autocast", "scaler"])
def test_a_precision_of_the_script_s_own_stays(interpose, kind):
    interposition = interpose(amp="bf16")
    model = Net()
    if kind == "scaler":
        torch.amp.GradScaler("cpu")
    else:
        torch.autocast("cpu", dtype=torch.bfloat16)
    calls = inputs_of(model.out)
    train_net(model, optimizer_of(model))
    assert calls[0][1].dtype == torch.float32
    assert __file__ in interposition.seen.own[kind]
    assert "precision of its own" in interposition.seen.roots[0].refused["amp"]


def test_override_lets_autocast_win_over_a_scaler_of_the_script(interpose):
    interpose(override=["amp"], amp="bf16")
    torch.amp.GradScaler("cpu")
    model = Net()
    calls = inputs_of(model.out)
    train_net(model, optimizer_of(model))
    assert calls[0][1].dtype == torch.bfloat16


def test_what_cannot_be_in_force_is_refused_with_a_reason(interpose):
    seen = interpose(amp="fp16", memory_format="channels_last").seen
    model = nn.Linear(2, 1)
    optimizer = optimizer_of(model)
    model(torch.randn(2, 2)).sum().backward()
    optimizer.step()
    refused = seen.roots[0].refused
    assert "GradScaler" in refused["amp"] and "no 4-D parameter" in refused["memory_format"]


def test_a_switched_off_scaler_is_no_precision_of_its_own(interpose):
    seen = interpose(observe=True).seen
    torch.amp.GradScaler("cpu", enabled=False)
    torch.autocast("cpu", enabled=False)
    assert seen.own == {}


def test_forward_passes_in_an_autocast_of_the_script_s_own_are_counted(interpose):
    seen = interpose(amp="bf16").seen
    model = Net()
    optimizer = optimizer_of(model)
    train_net(model, optimizer)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(IMAGES)
    assert (seen.roots[0].n_forwards, seen.roots[0].n_own_autocast) == (2, 1)


def test_override_lets_autocast_win_over_an_autocast_of_the_script_s_own(interpose):
    seen = interpose(override=["amp"], amp="bf16").seen
    model = Net()
    inner, outer = inputs_of(model.out), inputs_of(model)
    optimizer = optimizer_of(model)
    for _ in range(2):
        with torch.autocast("cpu", dtype=torch.float16):
            out = model(IMAGES)["p"]
            tied = nn.functional.linear(torch.ones(4, 4), model.out.weight)
        (out.sum() + tied.sum()).backward()
        optimizer.step()
    assert inner[1][1].dtype == torch.bfloat16 and tied.dtype == torch.float16
    assert out.dtype == torch.float32 and len(outer) == 2
    assert (seen.roots[0].n_own_autocast, seen.roots[0].refused) == (2, {})
