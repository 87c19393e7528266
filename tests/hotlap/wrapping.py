"""An optimizer within another one, as in timm's Lookahead."""

from collections import OrderedDict, defaultdict

import torch
from torch.optim import Optimizer

STEP_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
ALL_HOOKS = tuple(name for name in Optimizer.__annotations__ if name.endswith("_hooks"))


def wrapped(base, hooks=()):
    """What calls no constructor of torch's, and has the groups and the defaults of `base`."""

    class Wrap(Optimizer):  # a new one each time, for torch changes a class's step for good
        def __init__(self, base):
            self.base, self.param_groups, self.defaults = base, base.param_groups, base.defaults
            self.state = defaultdict(dict)
            for name in hooks:
                setattr(self, name, OrderedDict())

        def step(self, closure=None):
            return self.base.step(closure)

    return Wrap(base)


def made_around(base):
    """The same with torch's constructor."""

    class Around(Optimizer):
        def __init__(self, base):
            super().__init__(base.param_groups, base.defaults)
            self.base, self.param_groups = base, base.param_groups

        def step(self, closure=None):
            return self.base.step(closure)

    return Around(base)


def scaled_steps(model, optimizer, n=4, zero_grad=None):
    """Train with a GradScaler, whose gradients are eight times what they should be."""
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for _ in range(n):
        (zero_grad or optimizer.zero_grad)()
        scaler.scale(model(torch.ones(3, 4)).square().sum()).backward()
        scaler.step(optimizer)
        scaler.update()
