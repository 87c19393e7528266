"""Model settings are in force on the outermost module that is trained, and on nothing else."""

import copy
import gc
import io
import pickle
import threading
import weakref

import pytest
import torch
from torch import nn

from hotlap.interpose.roots import MAX_IN_VAIN, MAX_WATCHED_STEPS

PLAIN_CALL = nn.Module.__call__
IMAGES = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.out = nn.Linear(4, 1)

    def forward(self, images):
        return {"p": torch.sigmoid(self.out(self.conv(images).mean((2, 3))))}


def optimizer_of(*modules):
    return torch.optim.SGD([p for m in modules for p in m.parameters()], lr=0.1)


def train(model, optimizer, x=IMAGES):
    out = model(x)
    loss = nn.functional.binary_cross_entropy(out["p"], torch.ones(len(x), 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def inputs_of(module):
    seen = []
    module.register_forward_hook(lambda m, args, out: seen.append((args[0], out)))
    return seen


def test_layout_reaches_parameters_and_inputs_at_the_first_forward_pass(interpose):
    model = Net()
    kernel = model.conv.weight
    interpose(memory_format="channels_last")
    calls = inputs_of(model.conv)
    train(model, optimizer_of(model))
    assert model.conv.weight is kernel
    assert kernel.is_contiguous(memory_format=torch.channels_last)
    assert calls[0][0].is_contiguous(memory_format=torch.channels_last)
    assert IMAGES.is_contiguous()


def test_autocast_hands_its_outputs_back_in_float32(interpose):
    model = Net()
    seen = interpose(amp="bf16").seen
    calls = inputs_of(model.out)
    optimizer = optimizer_of(model)
    losses = [train(model, optimizer) for _ in range(3)]
    assert calls[0][1].dtype == torch.bfloat16
    assert model(IMAGES)["p"].dtype == torch.float32
    assert losses[2] < losses[0]
    assert seen.roots[0].refused == {}


def test_an_evaluation_runs_in_the_script_s_own_precision(interpose):
    model = Net()
    interpose(amp="bf16")
    optimizer = optimizer_of(model)
    train(model, optimizer)
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
    train(model, optimizer_of(model))
    assert calls[0][1].dtype == torch.float32
    assert __file__ in interposition.seen.own[kind]
    assert "precision of its own" in interposition.seen.roots[0].refused["amp"]


def test_override_lets_autocast_win_over_a_scaler_of_the_script(interpose):
    interpose(override=["amp"], amp="bf16")
    torch.amp.GradScaler("cpu")
    model = Net()
    calls = inputs_of(model.out)
    train(model, optimizer_of(model))
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
    seen = interpose().seen
    torch.amp.GradScaler("cpu", enabled=False)
    torch.autocast("cpu", enabled=False)
    assert seen.own == {}


def test_the_root_is_the_outermost_module_that_holds_trained_parameters(interpose):
    seen = interpose().seen
    frozen, model, loss = nn.Linear(3, 3), nn.Sequential(nn.Sequential(Net())), nn.MSELoss()
    optimizer = optimizer_of(model)
    with torch.no_grad():
        model(IMAGES)  # an evaluation before the first step
    frozen(torch.ones(3))
    loss(frozen(torch.ones(3)), torch.ones(3))
    train(model, optimizer)
    assert [(root.name, root.n_forwards, root.input_ranks) for root in seen.roots] == [
        ("Sequential", 1, [4])
    ]
    assert seen.roots[0].has_images and seen.roots[0].dtypes == ["float32"]


def test_two_optimizers_have_two_roots(interpose):
    seen = interpose().seen
    maker, judge = nn.Linear(2, 192), Net()
    optimizers = optimizer_of(maker), optimizer_of(judge)
    for _ in range(3):
        for optimizer in optimizers:
            judge(maker(torch.ones(2, 2)).view(2, 3, 8, 8))["p"].sum().backward()
            optimizer.step()
    assert [(root.name, root.n_forwards) for root in seen.roots] == [("Linear", 6), ("Net", 6)]


def test_when_all_roots_are_found_torch_s_own_call_is_back(interpose):
    interpose()
    assert nn.Module.__call__ is PLAIN_CALL  # nothing to look for yet
    model = Net()
    optimizer = optimizer_of(model)
    assert nn.Module.__call__ is not PLAIN_CALL
    inner = []
    model.conv.register_forward_hook(lambda *_: inner.append(nn.Module.__call__))
    train(model, optimizer)
    assert inner == [PLAIN_CALL]  # submodules, and a compiler that traces them, see nothing
    assert nn.Module.__call__ is PLAIN_CALL


def test_the_model_stays_what_it_was(interpose):
    plain = Net()
    train(plain, optimizer_of(plain))
    interpose(memory_format="channels_last", amp="bf16")
    model = Net()
    train(model, optimizer_of(model))
    assert type(model) is Net and isinstance(model, Net)
    assert list(model.state_dict()) == list(plain.state_dict())
    assert vars(model).keys() - vars(plain).keys() == {"_compiled_call_impl"}
    assert len(model._forward_hooks) == len(model._forward_pre_hooks) == 0
    buffer = io.BytesIO()
    torch.save(model, buffer)
    assert b"root_call" not in buffer.getvalue() + pickle.dumps(model)
    twin = copy.deepcopy(model)
    assert twin._compiled_call_impl is None and model._compiled_call_impl is not None


def test_a_model_that_the_script_lets_go_of_is_freed_at_once(interpose):
    interpose(amp="bf16")
    model = Net()
    optimizer = optimizer_of(model)
    train(model, optimizer)
    gone = weakref.ref(model)
    gc.disable()
    try:
        del model, optimizer
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("in_place", [False, True])
def test_a_model_that_the_script_compiles_is_not_compiled_again(interpose, in_place):
    seen = interpose(compile_mode="default", amp="bf16").seen
    model = Net()
    optimizer = optimizer_of(model)
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    if in_place:
        model.compile(backend=backend)
        called = model
    else:
        called = torch.compile(model, backend=backend)
    calls = inputs_of(model.out)
    train(called, optimizer)
    assert __file__ in seen.own["compile"] and "itself" in seen.roots[0].refused["compile_mode"]
    assert [root.name for root in seen.roots] == ["Net"] and len(graphs) >= 1
    assert calls[0][1].dtype == torch.bfloat16


def test_compiling_in_place_after_the_first_pass_keeps_autocast(interpose):
    interpose(amp="bf16")
    model = Net()
    optimizer = optimizer_of(model)
    train(model, optimizer)
    graphs = []
    model.compile(backend=lambda graph, inputs: graphs.append(graph) or graph.forward)
    assert model(IMAGES)["p"].dtype == torch.float32
    assert graphs and any(
        "bfloat16" in str(n.meta.get("example_value")) for n in graphs[0].graph.nodes
    )


def test_taken_away_it_leaves_a_model_as_the_script_made_it(interpose):
    interposition = interpose(amp="bf16")
    model, compiled = Net(), Net()
    compiled.compile(backend="eager")
    own = compiled._compiled_call_impl
    for each in (model, compiled):
        train(each, optimizer_of(each))
    interposition.remove()
    assert model._compiled_call_impl is None and compiled._compiled_call_impl is own


@pytest.mark.slow
def test_an_imposed_compile_runs_the_root_compiled_in_training_only(interpose):
    from torch._dynamo.utils import counters

    plain, x = Net(), IMAGES
    model = copy.deepcopy(plain)
    expected = train(plain, optimizer_of(plain))
    counters.clear()
    seen = interpose(compile_mode="default").seen
    optimizer = optimizer_of(model)
    with torch.no_grad():
        model(x)
    assert not counters["stats"]
    loss = train(model, optimizer)
    assert counters["stats"]["unique_graphs"] == 1
    assert loss == pytest.approx(expected, rel=1e-5)
    with torch.no_grad():
        model(x)
    assert counters["stats"]["unique_graphs"] == 1
    assert "compile" not in seen.own


def test_a_script_that_trains_in_a_thread_of_its_own_is_reached(interpose):
    seen = interpose(amp="bf16").seen
    model = Net()
    calls = inputs_of(model.out)
    thread = threading.Thread(target=lambda: train(model, optimizer_of(model)))
    thread.start()
    thread.join()
    assert calls[0][1].dtype == torch.bfloat16 and len(seen.roots) == 1


def test_a_model_called_in_another_thread_is_heard(interpose):
    seen = interpose(amp="bf16").seen
    model = Net()
    optimizer = optimizer_of(model)
    thread = threading.Thread(target=lambda: train(model, optimizer))
    thread.start()
    thread.join()
    assert seen.roots == [] and __file__ in seen.own["thread"]


def test_forward_passes_in_an_autocast_of_the_script_s_own_are_counted(interpose):
    seen = interpose(amp="bf16").seen
    model = Net()
    optimizer = optimizer_of(model)
    train(model, optimizer)
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


def test_parameters_whose_gradients_lie_in_buckets_keep_their_layout(interpose):
    seen = interpose(memory_format="channels_last").seen
    model = Net()
    model.gradient_as_bucket_view = True  # as DistributedDataParallel has it
    train(model, optimizer_of(model))
    assert model.conv.weight.is_contiguous()
    assert "gradient_as_bucket_view" in seen.roots[0].refused["memory_format"]


def test_a_layout_of_the_script_s_own_is_seen(interpose):
    seen = interpose().seen
    for model in (Net().to(memory_format=torch.channels_last), Net()):
        train(model, optimizer_of(model))
    assert [root.memory_format for root in seen.roots] == ["channels_last", "contiguous"]


def test_an_imposed_contiguous_lays_out_back_what_the_script_has_laid_out(interpose):
    seen = interpose(memory_format="contiguous").seen
    model = Net().to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    calls = inputs_of(model.conv)
    for _ in range(2):
        train(model, optimizer, IMAGES.to(memory_format=torch.channels_last))
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
            train(model, optimizer)
        return model

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(3):
        train(model, optimizer)
    checkpoint = optimizer.state_dict()
    plain, ours = resumed(), resumed(memory_format="channels_last", optimizer_kernel=kernel)
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], value, atol=1e-4, rtol=1e-4)


def test_a_model_and_an_optimizer_for_each_step_are_told_once(interpose):
    seen = interpose(amp="bf16").seen
    model = Net()
    for _ in range(30):
        fast = copy.deepcopy(model)
        calls = inputs_of(fast.out)
        train(fast, optimizer_of(fast))
        assert calls[0][1].dtype == torch.bfloat16
    assert [(root.name, root.n_forwards) for root in seen.roots] == [("Net", 30)]
    assert [(one.name, one.n_steps) for one in seen.optimizers] == [("SGD", 30)]
    assert __file__ in seen.roots[0].where and __file__ in seen.optimizers[0].where
    assert seen.n_optimizers_made == 30


def test_optimizers_of_what_no_module_holds_are_not_watched_for_ever(interpose):
    interpose()
    for _ in range(MAX_IN_VAIN + MAX_WATCHED_STEPS):
        image = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([image], lr=0.1)
        image.square().sum().backward()
        optimizer.step()
    assert nn.Module.__call__ is PLAIN_CALL
