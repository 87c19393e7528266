"""What CUDA graphs write again is no longer the script's; of what it keeps it has a copy."""

import pytest
import torch
from torch import nn

from hotlap.interpose import graph_memory

X = torch.arange(1.0, 4.0)


class Graph(torch.autograd.Function):
    """A weighted sum as a CUDA graph has it: its next run writes where the last one wrote."""

    output, gradient = torch.empty(()), torch.empty(3)

    @staticmethod
    def forward(ctx, weight, x):
        ctx.save_for_backward(x)
        Graph.output.copy_((weight * x).sum())
        return Graph.output.detach()

    @staticmethod
    def backward(ctx, of_sum):
        (x,) = ctx.saved_tensors
        torch.mul(of_sum, x, out=Graph.gradient)
        return Graph.gradient.detach(), None


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return {"loss": Graph.apply(self.weight, x)}


@pytest.fixture
def imposed(monkeypatch, interpose):
    """Imposes a compile mode; what is compiled stands for a CUDA graph."""
    monkeypatch.setattr(graph_memory, "may_be_a_graphs", lambda tensor: True)

    def imposed(mode):
        monkeypatch.setattr(torch, "compile", lambda call, mode: call)
        interpose(compile_mode=mode)
        model = Weighted()
        return model, torch.optim.SGD(model.parameters(), lr=0.1)

    return imposed


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
def test_losses_that_the_script_keeps_stay_what_they_were(imposed, mode):
    model, optimizer = imposed(mode)
    kept, then = [], []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(X)["loss"]
        kept.append(loss.detach())
        then.append(loss.item())
        loss.backward()
        optimizer.step()
    assert torch.stack(kept).tolist() == then and len(set(then)) == 3


@pytest.mark.parametrize("between", [False, True])
def test_gradients_that_the_script_adds_up_are_the_sum(imposed, between):
    model, optimizer = imposed("reduce-overhead")
    for _ in range(3):
        if not between:
            optimizer.zero_grad()
        first = model(X)["loss"]
        if between:
            optimizer.zero_grad()
        first.backward()
        model(2 * X)["loss"].backward()
        assert torch.equal(model.weight.grad, 3 * X)


def test_gradients_that_the_script_zeroes_in_place_hold_one_step_s(imposed):
    model, optimizer = imposed("reduce-overhead")
    for n in range(1, 4):
        optimizer.zero_grad(set_to_none=False)
        model(n * X)["loss"].backward()
        assert torch.equal(model.weight.grad, n * X)


def test_a_gradient_that_is_let_go_of_is_not_copied(imposed):
    model, optimizer = imposed("reduce-overhead")
    for _ in range(2):
        optimizer.zero_grad()
        model(X)["loss"].backward()
        assert model.weight.grad.data_ptr() == Graph.gradient.data_ptr()


def test_a_mode_without_graphs_costs_no_copy(imposed):
    model, _ = imposed("default")
    loss = model(X)["loss"]
    assert loss.data_ptr() == Graph.output.data_ptr()
    assert "graph_memory" not in torch.autograd.backward.__code__.co_filename
