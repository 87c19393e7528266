"""A model of images, and the loop that trains it or another one."""

import torch
from torch import nn

IMAGES = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))


class Net(nn.Module):
    """Gives a dictionary, as many libraries' models do."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.out = nn.Linear(4, 1)

    def forward(self, images):
        return {"p": torch.sigmoid(self.out(self.conv(images).mean((2, 3))))}


def optimizer_of(*modules):
    return torch.optim.SGD([p for m in modules for p in m.parameters()], lr=0.1)


def train(optimizer, loss_of, n_steps=1):
    """Steps of an optimizer on what `loss_of()` gives; returns the losses."""
    losses = []
    for _ in range(n_steps):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_net(net, optimizer, x=IMAGES):
    """One step of a Net, or of what wraps one."""
    ones = torch.ones(len(x), 1)
    (loss,) = train(optimizer, lambda: nn.functional.binary_cross_entropy(net(x)["p"], ones))
    return loss


def inputs_of(module):
    """First input and output of each call from now on."""
    seen = []
    module.register_forward_hook(lambda m, args, out: seen.append((args[0], out)))
    return seen
