"""Imposed autocast in calls without gradients: where the same call comes again with gradients."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

X = torch.linspace(-3, 3, 64).reshape(8, 8)


@pytest.fixture
def model(interpose):
    interpose(amp="bf16")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(X)  # from its first call with gradients on it is known
    yield model
    assert optimizer.param_groups  # it was alive meanwhile


def test_an_old_policys_outputs_are_those_of_the_new_one_before_it_has_changed(model):
    with torch.no_grad():
        before = model(X)
    assert before.dtype == torch.float32
    assert torch.equal(before, model(X))


def test_an_evaluation_keeps_the_scripts_own_precision(model):
    with_gradients = model(X)
    model.eval()
    with torch.no_grad():
        evaluated = model(X)
        plain = model[2](torch.tanh(model[0](X)))
    assert torch.equal(evaluated, plain)
    assert not torch.equal(evaluated, with_gradients)


def test_a_reentrant_checkpoint_gives_what_a_plain_call_gives(model):
    x = X.clone().requires_grad_()
    out = checkpoint(model, x, use_reentrant=True)
    assert torch.equal(out, model(X))
    out.sum().backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(X).sum().backward()
    assert all(torch.equal(a, p.grad) for a, p in zip(gradients, model.parameters(), strict=True))


def test_an_autocast_of_the_scripts_own_is_not_doubled(model):
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert model(X).dtype == torch.bfloat16


def test_a_model_that_was_called_for_its_shapes_elsewhere_has_autocast_where_it_trains(interpose):
    seen = interpose(amp="bf16").seen
    with torch.device("meta"):
        model = nn.Linear(8, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        assert model(X.to("meta")).shape == (8, 2)
    model.to_empty(device="cpu")
    dtypes = []
    model.register_forward_hook(lambda module, args, out: dtypes.append(out.dtype))
    model(X)
    with torch.no_grad():
        model(X)
    assert dtypes == [torch.bfloat16] * 2
    assert seen.roots[0].device == "cpu" and optimizer.param_groups
