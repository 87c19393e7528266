"""An imposed attention kernel is in force in training, and in nothing else that the script does."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from hotlap.flags import attention, only
from hotlap.interpose import Imposed
from hotlap.interpose.last_words import overruled
from hotlap.interpose.reach import unreached
from hotlap.script.attention import Attention
from tests.hotlap.interpose.nets import optimizer_of, train

X = torch.randn(2, 2, 3, 8, generator=torch.Generator().manual_seed(0))
ANY, FLASH = only("default"), only("flash")


class Attends(nn.Module):
    """Notes at each call which kernels torch may take."""

    def __init__(self, before=lambda: None):
        super().__init__()
        self.line = nn.Linear(8, 8)
        self.before = before
        self.kernels = []

    def forward(self, x):
        self.before()
        self.kernels.append(attention())
        q = self.line(x)
        return nn.functional.scaled_dot_product_attention(q, q, q)


class Checkpointed(nn.Module):
    def __init__(self, reentrant=False):
        super().__init__()
        self.block = Attends()
        self.reentrant = reentrant

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=self.reentrant)


def trained(model, n_steps=1):
    train(optimizer_of(model), lambda: model(X).square().mean(), n_steps)
    return model


def test_training_has_it_and_an_evaluation_does_not(interpose):
    interpose(sdpa_backend="flash")
    model = trained(Attends())
    assert attention() == ANY
    with torch.no_grad():
        model.eval()(X)
    trained(model.train())
    assert model.kernels == [FLASH, ANY, FLASH]


def test_what_was_in_force_is_back_after_a_pass_that_fails(interpose):
    interpose(sdpa_backend="flash")
    model = trained(Attends())
    with pytest.raises(RuntimeError):
        model(torch.ones(2, 7))
    assert attention() == ANY


def test_a_checkpointed_block_has_it_again_in_the_backward_pass(interpose):
    interpose(sdpa_backend="flash")
    assert trained(Checkpointed()).block.kernels == [FLASH, FLASH]


def test_a_pass_in_another_precision_than_at_first_has_the_script_s_own(interpose):
    interpose(sdpa_backend="flash")
    model = Attends()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        trained(model)
    model.eval()(X)  # without no_grad
    assert model.kernels == [FLASH, ANY]


def test_a_call_for_shapes_does_not_say_in_which_precision_training_is(interpose):
    interpose(sdpa_backend="math")
    model = Attends()
    optimizer = optimizer_of(model)
    model(X)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        train(optimizer, lambda: model(X).square().mean(), 3)
    model(X)  # without no_grad and eval
    assert model.kernels == [*[only("math")] * 4, ANY]


def test_nor_does_an_evaluation_in_autocast_with_gradients(interpose):
    interpose(sdpa_backend="math")
    model = trained(Attends())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model.eval()(X)
    trained(model.train())
    assert model.kernels == [only("math"), ANY, only("math")]


def test_with_an_imposed_precision_all_passes_with_gradients_have_it(interpose):
    interpose(sdpa_backend="flash", amp="bf16")
    model = trained(Attends())
    model.eval()(X)
    assert model.kernels == [FLASH, FLASH]


def test_the_script_s_own_switches_hold_outside_of_its_training(interpose):
    def more():
        torch.backends.cuda.enable_math_sdp(True)

    seen = interpose(sdpa_backend="flash").seen
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    model = trained(Attends(more))
    assert seen.sets["sdpa_backend"].overruled
    with torch.no_grad():
        model.eval()(X)
    assert model.kernels == [FLASH, {**ANY, "efficient": False}]
    torch.backends.cuda.enable_mem_efficient_sdp(True)


@pytest.mark.parametrize(
    "backend, kernel, on, told",
    [
        ("flash", "flash", True, False),
        ("flash", "mem_efficient", False, False),
        ("flash", "flash", False, True),
        ("math", "flash", True, True),
        ("default", "math", True, False),
        ("default", "math", False, True),
    ],
)
def test_a_switch_that_says_what_is_imposed_is_not_told_to_be_overruled(
    interpose, backend, kernel, on, told
):
    seen = interpose(sdpa_backend=backend).seen
    switch = getattr(torch.backends.cuda, f"enable_{kernel}_sdp")
    switch(on)
    imposed = Imposed.of({"sdpa_backend": backend})
    assert bool(overruled(imposed, seen)) is told
    assert overruled(imposed, seen, ["sdpa_backend"]) == []  # where it holds
    switch(True)


def test_a_default_that_is_imposed_lets_torch_take_any_in_training(interpose):
    interpose(sdpa_backend="default")
    torch.backends.cuda.enable_math_sdp(False)
    model = trained(Attends())
    assert model.kernels == [ANY] and attention() == {**ANY, "math": False}
    torch.backends.cuda.enable_math_sdp(True)


def test_with_no_module_that_is_trained_it_is_told_not_to_be_in_force(interpose):
    seen = interpose(sdpa_backend="flash").seen
    q = nn.Parameter(X.clone())
    attend = nn.functional.scaled_dot_product_attention
    train(torch.optim.SGD([q], lr=0.1), lambda: attend(q, q, q).mean())
    (note,) = unreached(Imposed.of({"sdpa_backend": "flash"}), seen)
    assert "no module that holds the optimizer's parameters" in note["reason"]


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("within", [False, True])
def test_attention_counts_for_the_search_where_a_kernel_would_reach_it(
    interpose, within, reentrant
):
    interposition = interpose(observe=True)
    heard = Attention(interposition.patches, interposition.kernel)
    line, attends = nn.Linear(8, 8), Checkpointed(reentrant)
    whole = nn.Sequential(line, attends)
    model = whole if within else line
    optimizer = optimizer_of(line)
    train(optimizer, lambda: (whole(X) if within else attends(line(X))).mean())
    interposition.remove()
    facts = heard.facts()
    assert [root.name for root in interposition.seen.roots] == [type(model).__name__]
    assert facts["attention"] is within
    assert facts["sdpa_backends_float32"] == (["math", "flash"] if within else [])


def test_nothing_of_it_is_left_behind(interpose):
    plain = torch.autograd.backward
    interposition = interpose(sdpa_backend="flash")
    model = trained(Attends())
    interposition.remove()
    assert torch.autograd.backward is plain
    trained(model)
    assert model.kernels == [FLASH, ANY]
