"""An imposed memory layout: parameters, inputs and what an optimizer keeps lie alike."""

import copy

import pytest
import torch

from tests.hotlap.interpose.nets import IMAGES, Net, inputs_of, optimizer_of, train_net


def test_layout_reaches_parameters_and_inputs_at_the_first_forward_pass(interpose):
    model = Net()
    kernel = model.conv.weight
    interpose(memory_format="channels_last")
    calls = inputs_of(model.conv)
    train_net(model, optimizer_of(model))
    assert model.conv.weight is kernel
    assert kernel.is_contiguous(memory_format=torch.channels_last)
    assert calls[0][0].is_contiguous(memory_format=torch.channels_last)
    assert IMAGES.is_contiguous()


def test_parameters_whose_gradients_lie_in_buckets_keep_their_layout(interpose):
    seen = interpose(memory_format="channels_last").seen
    model = Net()
    model.gradient_as_bucket_view = True  # as DistributedDataParallel has it
    train_net(model, optimizer_of(model))
    assert model.conv.weight.is_contiguous()
    assert "gradient_as_bucket_view" in seen.roots[0].refused["memory_format"]


def test_a_layout_of_the_script_s_own_is_seen(interpose):
    seen = interpose(observe=True).seen
    for model in (Net().to(memory_format=torch.channels_last), Net()):
        train_net(model, optimizer_of(model))
    assert [root.memory_format for root in seen.roots] == ["channels_last", "contiguous"]


def test_an_imposed_contiguous_lays_out_back_what_the_script_has_laid_out(interpose):
    seen = interpose(memory_format="contiguous").seen
    model = Net().to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    calls = inputs_of(model.conv)
    for _ in range(2):
        train_net(model, optimizer, IMAGES.to(memory_format=torch.channels_last))
    weight = model.conv.weight
    state = optimizer.state[weight]["exp_avg"]
    assert all(t.is_contiguous() for t in (weight, weight.grad, state, calls[0][0], calls[1][0]))
    assert seen.roots[0].memory_format == "channels_last"


@pytest.mark.parametrize("when", ["before the first pass", "after it"])
@pytest.mark.parametrize("kernel", ["foreach", "fused"])
def test_state_of_a_plain_checkpoint_goes_with_an_imposed_layout(interpose, kernel, when):
    def resumed(**imposed):
        torch.manual_seed(1)
        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        if imposed:
            interpose(**imposed)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        if when == "after it":
            model(IMAGES)
        optimizer.load_state_dict(copy.deepcopy(checkpoint))
        for _ in range(2):
            train_net(model, optimizer)
        return model

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(3):
        train_net(model, optimizer)
    checkpoint = optimizer.state_dict()
    plain, ours = resumed(), resumed(memory_format="channels_last", optimizer_kernel=kernel)
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], value, atol=1e-4, rtol=1e-4)
