"""The optimizer runs the kernel that was asked for, or a note says why not."""

import copy
import logging

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import hotlap
from hotlap.kernels import KERNELS, accepted, kernel_arguments, leave_to_torch, set_kernel
from hotlap.settings import Settings
from tests.hotlap.wrapping import scaled_steps, wrapped

CHOSEN = {
    "default": (None, None),
    "for_loop": (False, False),
    "foreach": (True, False),
    "fused": (False, True),
}


def parameters():
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(3, 2)), nn.Parameter(torch.randn(4))]


def kernel_of(place):
    return place.get("foreach"), place.get("fused")


def train(optimizer, n=3):
    for _ in range(n):
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = torch.full_like(parameter, 0.5)
        optimizer.step()


@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize("made", ["class", "function", "deaf function", "built"])
def test_defaults_and_every_group_have_the_kernel_and_groups_keep_their_lr(kernel, made):
    first, second = parameters()
    groups = [{"params": (p for p in [first])}, {"params": second, "lr": 0.01}]
    settings, notes = Settings(optimizer_kernel=kernel), []
    if made == "class":
        built = hotlap.optimizer(torch.optim.Adam, groups, settings, notes=notes, lr=0.1)
    elif made == "built":
        built = hotlap.set_kernel(torch.optim.Adam(groups, lr=0.1), settings, notes=notes)
    else:

        def factory(params, **kernel):
            kernel = kernel if made == "function" else {}
            return torch.optim.Adam(params, lr=0.1, **kernel)

        built = hotlap.optimizer(factory, groups, settings, notes=notes)
    assert notes == []
    for place in (built.defaults, *built.param_groups):
        assert kernel_of(place) == CHOSEN[kernel]
    assert [group["lr"] for group in built.param_groups] == [0.1, 0.01]
    train(built)


@pytest.mark.parametrize("kernel", ["for_loop", "foreach", "fused"])
def test_all_kernels_learn_the_same(kernel):
    reference, other = parameters(), parameters()
    train(torch.optim.AdamW(reference, lr=0.1))
    train(hotlap.optimizer(torch.optim.AdamW, other, Settings(optimizer_kernel=kernel), lr=0.1))
    for a, b in zip(reference, other, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(
    "optimizer_class", [torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad]
)
def test_a_group_that_refuses_fused_falls_back_alone_with_a_note(optimizer_class):
    real = nn.Parameter(torch.randn(4))
    mixed = [nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4, dtype=torch.cfloat))]
    notes = []
    built = hotlap.optimizer(
        optimizer_class,
        [{"params": [real], "lr": 0.5}, {"params": mixed}],
        Settings(optimizer_kernel="fused"),
        notes=notes,
        lr=0.1,
    )
    assert [kernel_of(g)[1] for g in built.param_groups] == [True, None]
    assert [g["lr"] for g in built.param_groups] == [0.5, 0.1]
    assert len(notes) == 1 and "parameter group 1" in notes[0]["reason"]
    # GradScaler must unscale for the other group.
    assert not getattr(built, "_step_supports_amp_scaling", False)
    train(built)


def test_a_class_without_the_keyword_keeps_torch_s_choice_with_a_note(caplog):
    notes = []
    built = hotlap.optimizer(
        torch.optim.RMSprop, parameters(), Settings(optimizer_kernel="fused"), notes=notes, lr=0.1
    )
    assert built.defaults["foreach"] is None
    assert notes == [
        {
            "setting": "optimizer_kernel",
            "reason": "RMSprop has no argument fused, so torch's own choice stays",
        }
    ]
    with caplog.at_level(logging.WARNING, logger="hotlap"):
        hotlap.optimizer(torch.optim.LBFGS, parameters(), Settings(optimizer_kernel="foreach"))
    assert "optimizer_kernel is not in force: LBFGS" in caplog.text
    for_loop = hotlap.optimizer(
        torch.optim.RMSprop, parameters(), Settings(optimizer_kernel="for_loop"), lr=0.1
    )
    assert for_loop.param_groups[0]["foreach"] is False


@pytest.mark.parametrize("kernel", ["default", "foreach", "fused"])
def test_what_wraps_an_optimizer_trains_as_without_hotlap(kernel):
    def steps_of(make):
        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        scaled_steps(model, make(model.parameters()), zero_grad=model.zero_grad)
        return model.weight

    def factory(parameters, **kernel):
        return wrapped(torch.optim.SGD(parameters, lr=0.1, **kernel))

    settings = Settings(optimizer_kernel=kernel)
    ours = steps_of(lambda parameters: hotlap.optimizer(factory, parameters, settings))
    assert torch.allclose(ours, steps_of(factory), atol=1e-5)


def test_the_user_s_own_kernel_stays_with_default_and_is_overridden_by_another():
    mine = {"lr": 0.1, "foreach": True}
    assert hotlap.optimizer(torch.optim.SGD, parameters(), Settings(), **mine).defaults["foreach"]
    other = hotlap.optimizer(
        torch.optim.SGD, parameters(), Settings(optimizer_kernel="fused"), **mine
    )
    assert kernel_of(other.param_groups[0]) == (False, True)


def test_an_error_of_the_factory_itself_is_the_user_s_to_see():
    with pytest.raises(ValueError, match="Invalid learning rate"):
        hotlap.optimizer(torch.optim.SGD, parameters(), Settings(optimizer_kernel="fused"), lr=-1.0)


def test_kernel_arguments_are_those_of_the_signature():
    settings = Settings(optimizer_kernel="for_loop")
    assert kernel_arguments(settings) == {"foreach": False, "fused": False}
    assert kernel_arguments(settings, torch.optim.RMSprop) == {"foreach": False}
    assert kernel_arguments(settings, torch.optim.LBFGS) == {}
    assert kernel_arguments(Settings(), torch.optim.SGD) == {}


def test_the_kernel_survives_loading_a_checkpoint_of_another_one():
    plain = torch.optim.Adam(parameters(), lr=0.1)
    train(plain)
    state = copy.deepcopy(plain.state_dict())
    fused = hotlap.optimizer(
        torch.optim.Adam, parameters(), Settings(optimizer_kernel="fused"), lr=0.2
    )
    fused.load_state_dict(state)
    assert kernel_of(fused.param_groups[0]) == (False, True)
    assert fused.param_groups[0]["lr"] == 0.1  # of the checkpoint, as torch does it
    train(fused)


def test_accepted_names_the_kernels_that_really_run():
    assert accepted(torch.optim.Adam(parameters())) == ["for_loop", "foreach", "fused"]
    assert accepted(torch.optim.RMSprop(parameters())) == ["for_loop", "foreach"]
    assert accepted(torch.optim.LBFGS(parameters())) == []
    complex_one = [nn.Parameter(torch.randn(3, dtype=torch.cfloat))]
    assert accepted(torch.optim.SGD(complex_one, lr=0.1)) == ["for_loop", "foreach"]


def test_trying_a_kernel_leaves_parameters_and_state_alone():
    own = parameters()
    before = [p.detach().clone() for p in own]
    built = torch.optim.Adam(own, lr=0.1)
    accepted(built)
    assert not built.state and all(map(torch.equal, own, before))


@pytest.mark.parametrize("kernel", ["default", "foreach", "fused"])
def test_state_of_a_plain_checkpoint_is_laid_out_as_its_parameter_is(kernel):
    def trained(last, state=None, **more):
        torch.manual_seed(0)
        images = nn.Parameter(torch.randn(4, 3, 3, 3))
        if last:
            images.data = images.data.contiguous(memory_format=torch.channels_last)
        built = hotlap.optimizer(torch.optim.Adam, [images], Settings(**more), lr=0.1)
        if state is not None:
            built.load_state_dict(copy.deepcopy(state))
        for i in range(3):
            images.grad = (
                torch.linspace(-1, i, 108)
                .view(4, 3, 3, 3)
                .clone(memory_format=torch.channels_last if last else torch.contiguous_format)
            )
            built.step()
        return images.detach(), built

    _, before = trained(last=False)
    state = before.state_dict()
    plain, _ = trained(last=False, state=state)
    ours, built = trained(last=True, state=state, optimizer_kernel=kernel)
    torch.testing.assert_close(ours, plain, atol=1e-5, rtol=1e-5)
    (kept,) = built.state.values()
    assert kept["exp_avg"].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("kernel", ["for_loop", "foreach", "fused", "default"])
def test_the_count_of_steps_in_a_fused_checkpoint_comes_to_where_the_kernel_reads_it(kernel):
    """On a device other than the host, of which torch makes tensors without data."""
    with FakeTensorMode():
        weight = nn.Parameter(torch.zeros(3, device="cuda"))
        weight.grad = torch.zeros_like(weight)
        written = torch.optim.Adam([weight], fused=True)
        written.step()
        built = torch.optim.Adam([weight])
        built.load_state_dict(written.state_dict())
        assert built.state[weight]["step"].device.type == "cuda"
        if kernel == "default":
            leave_to_torch(built)
        else:
            set_kernel(built, Settings(optimizer_kernel=kernel), notes=[])
        on_device = built.state[weight]["step"].device.type == "cuda"
    assert on_device == (kernel == "fused")
