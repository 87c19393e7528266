"""A script that compiles by itself: what it compiles runs as ever, and what is imposed is told."""

import copy
import gc
import warnings
import weakref

import pytest
import torch
from torch import nn

from hotlap.interpose import Imposed, reach
from hotlap.interpose.reach import MODEL, unreached
from tests.hotlap.interpose.nets import IMAGES, Net, inputs_of, optimizer_of, train_net
from tests.hotlap.interpose.nets import train as train_by

X, Y = torch.randn(8, 4, generator=torch.Generator().manual_seed(0)), torch.arange(8) % 3


@pytest.fixture(autouse=True)
def _no_compiled_code():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture
def eager_backend(monkeypatch):
    """Imposed modes are traced, and run as they are: an inductor takes its minute."""
    compile_any = torch.compile

    def compile(model=None, *, mode=None, backend="eager", **more):
        return compile_any(model, backend=backend, **more)

    monkeypatch.setattr(torch, "compile", compile)


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))


def dtypes_of(module):
    found = []
    module.register_forward_hook(lambda m, args, out: found.append(out.dtype))
    return found


def train(model, loss_of, n_steps=3, optimizer=None):
    return train_by(optimizer or optimizer_of(model), lambda: loss_of(X, Y), n_steps)


def compiled_loss(model, how):
    def loss_of(x, y):
        return nn.functional.cross_entropy(model(x), y)

    if how == "decorator":
        return torch.compile(fullgraph=True, backend="eager")(loss_of)
    return torch.compile(loss_of, fullgraph=True, backend="eager")


@pytest.mark.parametrize("how", ["decorator", "call"])
def test_a_compiled_function_that_calls_the_model_is_traced_as_a_whole(interpose, how):
    model = net()
    plain = train(model, compiled_loss(model, how))
    torch._dynamo.reset()
    seen = interpose(observe=True).seen
    model = net()
    n_graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    assert train(model, compiled_loss(model, how), 25)[:3] == plain
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == n_graphs + 1
    assert __file__ in seen.own["function"]
    sentence = "the model is called within a function that the script compiles itself"
    for name in MODEL:
        assert reach(seen, override=["amp", "compile_mode"])[name].startswith(sentence)


def test_a_function_that_was_compiled_before_is_traced_as_a_whole_too(interpose):
    model = net()
    plain = train(model, compiled_loss(model, "call"))
    torch._dynamo.reset()
    model = net()
    loss_of = compiled_loss(model, "call")
    interpose(observe=True)
    assert train(model, loss_of) == plain


def test_a_model_that_is_called_by_itself_first_and_then_within_is_told(interpose):
    seen = interpose(amp="bf16").seen
    model = net()
    optimizer = optimizer_of(model)
    train(model, lambda x, y: nn.functional.cross_entropy(model(x), y), optimizer=optimizer)
    imposed = Imposed.of({"amp": "bf16"})
    assert unreached(imposed, seen) == []
    train(model, compiled_loss(model, "call"), optimizer=optimizer)
    (note,) = unreached(imposed, seen)
    assert "within a function that the script compiles itself" in note["reason"]


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # the compiler looks at it
def test_a_compiled_function_that_does_not_call_the_model_changes_nothing(interpose):
    seen = interpose(amp="bf16").seen
    model = net()
    dtypes = dtypes_of(model[2])
    criterion = torch.compile(nn.functional.cross_entropy, backend="eager")
    train(model, lambda x, y: criterion(model(x), y))
    assert dtypes == 3 * [torch.bfloat16]
    assert "function" not in seen.own and unreached(Imposed.of({"amp": "bf16"}), seen) == []


def test_compiling_that_is_switched_off_hides_no_model(interpose):
    seen = interpose(amp="bf16").seen
    model = net()
    loss_of = torch.compile(
        lambda x, y: nn.functional.cross_entropy(model(x), y), disable=True, backend="eager"
    )
    train(model, loss_of)
    assert [root.name for root in seen.roots] == ["Sequential"] and "function" not in seen.own


def test_a_model_that_is_compiled_after_its_first_step_keeps_what_is_imposed(interpose):
    seen = interpose(amp="bf16").seen
    model = net()
    optimizer = optimizer_of(model)
    train(model, lambda x, y: nn.functional.cross_entropy(model(x), y), 1, optimizer)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    dtypes = dtypes_of(model[2])
    train(model, lambda x, y: nn.functional.cross_entropy(compiled(x), y), 2, optimizer)
    assert dtypes and set(dtypes) == {torch.bfloat16}
    assert [root.n_forwards for root in seen.roots] == [3]


@pytest.mark.parametrize("in_place", [False, True])
def test_override_lets_an_imposed_mode_win_over_the_script_s_own(
    interpose, eager_backend, in_place
):
    interposition = interpose(override=["compile_mode"], compile_mode="default")
    own = []

    def backend(graph, inputs):
        own.append(graph)
        return graph.forward

    model = net()
    if in_place:
        model.compile(backend=backend)
        called = model
    else:
        called = torch.compile(model, backend=backend)
    torch._dynamo.utils.counters.clear()
    losses = train(model, lambda x, y: nn.functional.cross_entropy(called(x), y))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] >= 1
    assert own == [] and losses[2] < losses[0]
    assert interposition.seen.roots[0].refused == {}
    assert reach(interposition.seen, override=["compile_mode"])["compile_mode"] == ""


def test_a_graph_that_the_script_traces_is_of_its_own_model(interpose):
    seen = interpose(compile_mode="default", amp="bf16").seen
    model, x = nn.Linear(4, 2), torch.ones(3, 4)
    optimizer = optimizer_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch has other ways by now
        graph = torch.jit.trace(model, x, check_trace=False)
    with torch.no_grad():  # else the graph, which holds the parameters, is a root itself
        assert torch.allclose(graph.eval()(x), nn.functional.linear(x, model.weight, model.bias))
    assert seen.roots[0].n_forwards == 0 and optimizer.param_groups


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
    train_net(called, optimizer)
    assert __file__ in seen.own["compile"] and "itself" in seen.roots[0].refused["compile_mode"]
    assert [root.name for root in seen.roots] == ["Net"] and len(graphs) >= 1
    assert calls[0][1].dtype == torch.bfloat16


def test_compiling_in_place_after_the_first_pass_keeps_autocast(interpose):
    interpose(amp="bf16")
    model = Net()
    optimizer = optimizer_of(model)
    train_net(model, optimizer)
    graphs = []
    model.compile(backend=lambda graph, inputs: graphs.append(graph) or graph.forward)
    assert model(IMAGES)["p"].dtype == torch.float32
    assert graphs and any(
        "bfloat16" in str(n.meta.get("example_value")) for n in graphs[0].graph.nodes
    )


@pytest.mark.parametrize("own", [False, True])
def test_a_compiled_model_that_the_script_lets_go_of_is_freed(interpose, eager_backend, own):
    interpose(**({"amp": "bf16"} if own else {"compile_mode": "default"}))
    gone = []
    for _ in range(3):  # as for each fold
        model = net()
        if own:
            model.compile()
        train(model, lambda x, y, model=model: nn.functional.cross_entropy(model(x), y))
        gone.append(weakref.ref(model))
        del model
    gc.collect()
    assert [one() for one in gone] == [None] * 3


@pytest.mark.slow
def test_an_imposed_compile_runs_the_root_compiled_in_training_only(interpose):
    from torch._dynamo.utils import counters

    plain, x = Net(), IMAGES
    model = copy.deepcopy(plain)
    expected = train_net(plain, optimizer_of(plain))
    counters.clear()
    seen = interpose(compile_mode="default").seen
    optimizer = optimizer_of(model)
    with torch.no_grad():
        model(x)
    assert not counters["stats"]
    loss = train_net(model, optimizer)
    assert counters["stats"]["unique_graphs"] == 1
    assert loss == pytest.approx(expected, rel=1e-5)
    with torch.no_grad():
        model(x)
    assert counters["stats"]["unique_graphs"] == 1
    assert "compile" not in seen.own
