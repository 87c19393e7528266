"""What a backward pass calls is no call of the script's own: checkpoints, penalties, hooks."""

import threading

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.hotlap.interpose.nets import optimizer_of, train

X = torch.linspace(-2, 2, 24).reshape(6, 4)
DEEP = 70
"""Backward passes within one another: from 60 on autograd takes a further thread."""

FORMS = pytest.mark.parametrize("reentrant", [True, False])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.inner(x))


class Model(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(4, 4)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.reentrant = reentrant

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return x


class Told:
    """A listener that keeps all that it is told."""

    def __init__(self):
        self.all = []

    def __getattr__(self, name):
        return lambda *args: self.all.append((name, *args))

    def of(self, name):
        return [args for heard, *args in self.all if heard == name]


def mean_square(model):
    return model(X).square().mean()


def penalty(model):
    """As WGAN-GP's: a gradient of a gradient."""
    x = X.clone().requires_grad_()
    (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    return mean_square(model) + slope.square().mean()


def trained(reentrant, loss_of, n_steps=3):
    """Losses of some steps, and the model."""
    model = Model(reentrant)
    return train(optimizer_of(model), lambda: loss_of(model), n_steps), model


def watched(interpose, reentrant, loss_of, n_forwards):
    """What is told, the losses and the model, where watching changes no loss and finds one root."""
    plain, _ = trained(reentrant, loss_of)
    interposition, told = interpose(observe=True), Told()
    interposition.listen(told)
    losses, model = trained(reentrant, loss_of)
    assert losses == plain
    roots = interposition.seen.roots
    assert [(root.name, root.n_forwards) for root in roots] == [("Model", n_forwards)]
    return told, losses, model


@FORMS
def test_checkpointed_blocks_are_no_roots_and_train_as_ever(interpose, reentrant):
    told, _, model = watched(interpose, reentrant, mean_square, n_forwards=3)
    assert told.of("forward") == 3 * [[model, True]]
    assert all(block._compiled_call_impl is None for block in model.blocks)


@FORMS
def test_of_a_backward_pass_within_another_nothing_is_told(interpose, reentrant):
    told = Told()
    interpose(observe=True).listen(told)
    losses, _ = trained(reentrant, mean_square)
    assert [loss.item() for (loss,) in told.of("backward")] == losses


def test_a_penalty_on_gradients_of_a_checkpointed_model_adds_no_root(interpose):
    told, losses, _ = watched(interpose, False, penalty, n_forwards=6)
    assert [loss.item() for (loss,) in told.of("backward")] == losses


def test_a_module_that_a_hook_calls_is_no_root(interpose):
    seen = interpose(observe=True).seen
    model, other = Model(False), nn.Linear(4, 4)
    optimizer = optimizer_of(model, other)

    def loss_of():
        x = X.clone().requires_grad_()
        out = model(x)
        out.register_hook(lambda gradient: gradient + 0 * other(gradient))
        torch.autograd.grad(out.sum(), x, create_graph=True)  # leaves gradients on in hooks
        return mean_square(model)

    train(optimizer, loss_of)
    assert [root.name for root in seen.roots] == ["Model"]


def test_a_part_that_autograds_own_thread_calls_again_is_no_call_in_another_thread(interpose):
    """So it is on a GPU; on a CPU deeply nested backward passes go to such a thread."""
    seen = interpose(observe=True).seen
    model = Model(True)
    optimizer, threads = optimizer_of(model), set()

    def deeper(x, n):
        if n:
            return checkpoint(deeper, x, n - 1, use_reentrant=True)
        threads.add(threading.get_ident())
        return model.blocks[0](x)

    train(optimizer, lambda: (model(X) + deeper(model.first(X), DEEP)).square().mean())
    assert len(threads) > 1 and "thread" not in seen.own
