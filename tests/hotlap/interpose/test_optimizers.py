"""The optimizer's kernel is chosen before its first step, by hooks; steps are counted."""

import copy
import io
import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from hotlap.interpose.reach import reach
from tests.hotlap.interpose.nets import train
from tests.hotlap.wrapping import ALL_HOOKS, STEP_HOOKS, made_around, scaled_steps, wrapped


def trained(kind=torch.optim.Adam, n_steps=2, **own):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = kind(model.parameters(), lr=0.1, **own)
    step(model, optimizer, n_steps)
    return model, optimizer


def step(model, optimizer, n_steps=1):
    train(optimizer, lambda: model(torch.ones(3, 4)).square().sum(), n_steps)


@pytest.mark.parametrize("kernel", ["for_loop", "foreach", "fused"])
def test_the_kernel_is_in_force_in_every_group_from_the_first_step(interpose, kernel):
    plain, _ = trained()
    interpose(optimizer_kernel=kernel)
    model, optimizer = trained()
    wanted = {"for_loop": (False, False), "foreach": (True, False), "fused": (False, True)}
    assert [(g["foreach"], g["fused"]) for g in optimizer.param_groups] == [wanted[kernel]]
    assert torch.allclose(model.weight, plain.weight, atol=1e-6)


def test_a_kernel_that_the_class_does_not_know_leaves_a_note(interpose):
    interposition = interpose(optimizer_kernel="fused")
    trained(torch.optim.RMSprop)
    assert "RMSprop has no argument fused" in interposition.notes[0]["reason"]


def test_a_checkpoint_does_not_bring_its_kernel_along(interpose):
    _, plain = trained(foreach=True)
    state = copy.deepcopy(plain.state_dict())
    interpose(optimizer_kernel="fused")
    model, optimizer = trained()
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["fused"] is True
    step(model, optimizer)


def test_steps_and_optimizers_are_counted_and_twins_are_not(interpose):
    seen = interpose(observe=True, optimizer_kernel="foreach").seen
    trained(n_steps=3)
    trained(torch.optim.SGD, n_steps=2, fused=True)
    assert (seen.n_steps, seen.n_optimizers_made) == (5, 2)
    assert [(o.name, o.n_steps, o.own_kernel) for o in seen.optimizers] == [
        ("Adam", 3, "default"),
        ("SGD", 2, "fused"),
    ]
    assert {"for_loop", "foreach"} <= set(seen.optimizers[0].kernels)


def test_step_is_not_replaced_and_schedulers_go_on(interpose):
    interpose(optimizer_kernel="foreach")
    model, optimizer = trained()
    assert "step" not in vars(optimizer)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    step(model, optimizer)
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.05)


def test_a_scaler_of_the_script_goes_with_an_imposed_fused_kernel(interpose):
    plain, _ = trained(torch.optim.SGD, n_steps=4)
    interpose(optimizer_kernel="fused")
    model, optimizer = trained(torch.optim.SGD, n_steps=0)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for _ in range(4):
        optimizer.zero_grad()
        scaler.scale(model(torch.ones(3, 4)).square().sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert torch.allclose(model.weight, plain.weight, atol=1e-5)


@pytest.mark.parametrize("kernel", ["default", "for_loop", "foreach", "fused"])
@pytest.mark.parametrize("unscales", [False, True])
def test_a_scaler_of_the_script_does_not_meet_the_script_s_own_fused_kernel(
    interpose, kernel, unscales
):
    plain, _ = trained(torch.optim.SGD, n_steps=4)
    seen = interpose(optimizer_kernel=kernel).seen
    model, optimizer = trained(torch.optim.SGD, n_steps=0, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for _ in range(4):
        optimizer.zero_grad()
        scaler.scale(model(torch.ones(3, 4)).square().sum()).backward()
        if unscales:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    assert torch.allclose(model.weight, plain.weight, atol=1e-5)
    assert [(o.own_kernel, o.n_steps) for o in seen.optimizers] == [("fused", 4)]


def steps_of(wrap, **more):
    model, base = trained(torch.optim.SGD, n_steps=0, momentum=0.9)
    zero_grad = None if more.get("hooks", True) else model.zero_grad  # torch's own would hook it
    scaled_steps(model, wrap(base, **more), zero_grad=zero_grad)
    return model.weight


@pytest.mark.parametrize("hooks", [(), STEP_HOOKS, ALL_HOOKS], ids=["none", "of step", "all"])
@pytest.mark.parametrize("kernel", ["foreach", "fused"])
def test_of_what_wraps_an_optimizer_the_wrapped_one_is_met(interpose, kernel, hooks):
    plain = steps_of(wrapped, hooks=hooks)
    interposition = interpose(optimizer_kernel=kernel, memory_format="channels_last")
    assert torch.allclose(steps_of(wrapped, hooks=hooks), plain, atol=1e-5)
    seen = interposition.seen
    assert [(one.name, one.n_steps) for one in seen.optimizers] == [("SGD", 4)]
    assert seen.n_steps == 4


@pytest.mark.parametrize("kernel", ["foreach", "fused"])
def test_what_wraps_an_optimizer_and_is_one_itself_does_not_step_on_scaled_gradients(
    interpose, kernel
):
    plain = steps_of(made_around)
    interpose(optimizer_kernel=kernel)
    assert torch.allclose(steps_of(made_around), plain, atol=1e-5)


def test_a_fused_kernel_that_is_imposed_gets_the_scale_where_the_class_asks_for_it(interpose):
    interpose(optimizer_kernel="fused")
    _, optimizer = trained(torch.optim.SGD)
    assert optimizer._step_supports_amp_scaling


def test_with_nothing_imposed_the_groups_are_as_the_script_made_them(interpose):
    _, plain = trained()
    interpose()
    _, optimizer = trained()
    before, after = (
        {k: v for k, v in o.param_groups[0].items() if k != "params"} for o in (plain, optimizer)
    )
    assert after == before


@pytest.mark.parametrize("own", [{"fused": True}, {"foreach": True}, {"foreach": False}])
def test_an_imposed_default_is_torch_s_own_choice_over_the_script_s(interpose, own):
    plain, _ = trained()
    _, before = trained(**own)
    state = copy.deepcopy(before.state_dict())
    interposition = interpose(optimizer_kernel="default")
    model, optimizer = trained(**own)
    for _ in range(2):
        for place in (optimizer.defaults, *optimizer.param_groups):
            assert (place["foreach"], place["fused"]) == (None, None)
        optimizer.load_state_dict(state)  # a checkpoint does not bring its kernel along
    assert torch.allclose(model.weight, plain.weight, atol=1e-6)
    assert interposition.seen.optimizers[0].own_kernel != "default"
    assert not getattr(optimizer, "_step_supports_amp_scaling", False)


class Layered(torch.optim.AdamW):
    """Its step reads what only its groups say, as layer-wise learning rates do, and draws."""

    def step(self, closure=None):
        before = [group["lr"] for group in self.param_groups]
        for group in self.param_groups:
            group["lr"] *= group["lr_scale"]
            group["n_seen"].add_(1)
            group["last"] = torch.rand(1)
        super().step(closure)
        for group, lr in zip(self.param_groups, before, strict=True):
            group["lr"] = lr


class Drawing(torch.optim.SGD):
    """Draws from every generator there is."""

    def step(self, closure=None):
        random.random(), np.random.rand(), torch.rand(1)
        super().step(closure)


class Registered(torch.optim.SGD):
    """Its step knows only parameters that it was told of after its making."""

    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                assert self.names[parameter]
        super().step(closure)


def layered(n_steps=3):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    groups = [
        {"params": [parameter], "lr_scale": 0.5**i, "n_seen": torch.zeros(())}
        for i, parameter in enumerate(model.parameters())
    ]
    optimizer = Layered(groups, lr=0.1)
    step(model, optimizer, n_steps)
    return model, optimizer


@pytest.mark.parametrize("imposed", [{}, {"optimizer_kernel": "for_loop"}])
def test_a_step_that_reads_keys_of_its_own_groups_is_tried_and_nothing_changes(interpose, imposed):
    plain, before = layered()
    interposition = interpose(observe=True, **imposed)
    model, optimizer = layered()
    assert torch.equal(model.weight, plain.weight) and torch.equal(model.bias, plain.bias)
    for ours, own in zip(optimizer.param_groups, before.param_groups, strict=True):
        assert torch.equal(ours["n_seen"], own["n_seen"]) and torch.equal(ours["last"], own["last"])
        assert ours["foreach"] is (False if imposed else None)
    assert {"for_loop", "foreach"} <= set(interposition.seen.optimizers[0].kernels)
    assert interposition.notes == []


def test_what_is_tried_on_strangers_draws_no_number_and_calls_no_hook_of_the_script(interpose):
    def drawn(kind):
        random.seed(0), np.random.seed(0)
        _, optimizer = trained(kind)
        return (random.random(), np.random.rand(), torch.rand(1).item()), optimizer

    plain, _ = drawn(Drawing)
    interpose(observe=True, optimizer_kernel="foreach")
    assert drawn(Drawing)[0] == plain
    stepped = []
    own = register_optimizer_step_post_hook(lambda one, args, kwargs: stepped.append(one))
    _, optimizer = drawn(torch.optim.SGD)
    own.remove()
    assert stepped == [optimizer] * 2


def test_a_step_that_cannot_be_tried_on_strangers_is_no_error_of_the_script(interpose):
    interposition = interpose(observe=True, optimizer_kernel="foreach")
    model = nn.Linear(4, 2)
    optimizer = Registered(model.parameters(), lr=0.1)
    optimizer.names = {parameter: name for name, parameter in model.named_parameters()}
    step(model, optimizer)
    assert interposition.seen.optimizers[0].kernels and interposition.notes == []


def test_a_step_that_calls_the_one_of_its_parent_s_class_is_one_step(interpose):
    seen = interpose().seen
    _, optimizer = layered(n_steps=3)
    assert (seen.n_steps, seen.optimizers[0].n_steps) == (3, 3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)  # puts its own round the instance's
    optimizer.step()
    schedule.step()
    assert seen.n_steps == 4


class Dressed(torch.optim.SGD):
    """Has all that another optimizer has, and calls no constructor of torch's."""

    def __init__(self, other):
        self.__dict__.update(vars(other))


def read_from_a_file(pair):
    file = io.BytesIO()
    torch.save(pair, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=False)


@pytest.mark.parametrize("way", [copy.deepcopy, read_from_a_file])
def test_an_optimizer_that_is_copied_or_read_from_a_file_is_known(interpose, way):
    made = trained(n_steps=1)
    interposition = interpose(optimizer_kernel="foreach", amp="bf16")
    model, optimizer = way(made)
    optimizer.load_state_dict(made[1].state_dict())
    dtypes = []
    model.register_forward_hook(lambda module, args, out: dtypes.append(out.dtype))
    step(model, optimizer)
    seen = interposition.seen
    assert (seen.n_optimizers_made, seen.n_steps) == (1, 1)
    assert [root.name for root in seen.roots] == ["Linear"] and dtypes == [torch.bfloat16]
    assert optimizer.param_groups[0]["foreach"] is True
    assert reach(seen)["amp"] == ""


def test_one_with_the_groups_of_another_that_steps_itself_is_known_after_that(interpose):
    seen = interpose(optimizer_kernel="foreach").seen
    model, inner = trained(torch.optim.SGD, n_steps=0)
    optimizer = Dressed(inner)
    step(model, optimizer, 3)
    assert (seen.n_optimizers_made, seen.n_steps) == (2, 2)
    assert optimizer.param_groups[0]["foreach"] is True


def test_an_optimizer_that_calls_no_constructor_is_known_from_its_first_step_on(interpose):
    model, inner = trained(torch.optim.SGD, n_steps=1)
    seen = interpose(optimizer_kernel="foreach", observe=True).seen
    optimizer = Dressed(inner)
    step(model, optimizer, 2)
    assert (seen.n_optimizers_made, seen.n_steps) == (1, 2)
    assert [root.n_forwards for root in seen.roots] == [1]
    assert optimizer.param_groups[0]["foreach"] is True
