"""What is heard of a script besides its units: where it trains, and what its scaler leaves out."""

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from hotlap.interpose.device import device_of, parameters_device
from hotlap.interpose.patches import Patches
from hotlap.script.heard import Heard
from hotlap.script.skips import Skips
from tests.hotlap.script.script_texts import TRAINING

SCALED = """
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

def train(n_epochs, skips, loader=loader):
    n = 0
    for epoch in range(n_epochs):
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(nn.functional.mse_loss(model(x), y)).backward()
            if skips(n := n + 1):
                model[0].weight.grad[0] = torch.inf
            scaler.step(optimizer)
            scaler.update(4.0)
"""


@pytest.mark.parametrize(
    ("optimizers", "roots", "device"),
    [
        (["cpu"], ["cpu"], "cpu"),
        (["cuda:1"], ["cuda"], "cuda:1"),
        (["cuda:1"], [], "cuda:1"),  # raw tensors, or a model called in another thread
        (["cuda:0"], ["cpu", "cuda"], "cuda:0"),
        (["cpu", "cuda:2"], [], "cuda:2"),
        (["xpu:0"], [], "xpu:0"),
    ],
)
def test_a_script_trains_where_its_parameters_lie(optimizers, roots, device):
    assert device_of(optimizers, roots) == torch.device(device)


def test_where_parameters_lie_is_known_without_any_module():
    parameter = torch.nn.Parameter(torch.empty(2, device="meta"))
    assert parameters_device(torch.optim.SGD([{"params": [parameter]}], lr=0.1)) == "meta"
    some = [torch.zeros(2), parameter]  # the first ones kept in host memory
    assert parameters_device(torch.optim.SGD(some, lr=0.1)) == "meta"


def test_an_optimizer_is_heard_of_before_its_first_step():
    class Both:
        def __init__(self):
            self.heard = []

        def __getattr__(self, name):
            return lambda *args: self.heard.append((name, *args))

    both = Both()
    listener = Heard(both, both)
    listener.steps("adam")
    listener.stepped("adam")
    assert both.heard == [
        ("before_stepping", "adam"),
        ("steps", "adam"),
        ("has_stepped", "adam"),
        ("stepped", "adam"),
    ]


@pytest.fixture
def skips():
    patches = Patches()
    found = Skips(patches)
    hook = register_optimizer_step_post_hook(lambda optimizer, *_: found.stepped(optimizer))
    yield found
    hook.remove()
    patches.undo()


@pytest.mark.parametrize("fused", [False, True])
def test_updates_that_a_scaler_skips_are_counted_of_fused_optimizers_too(skips, fused):
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([parameter], fused=fused)
    scaler = torch.amp.GradScaler("cpu")
    for i in range(5):
        optimizer.zero_grad()
        scaler.scale(parameter.sum()).backward()
        if i < 3:
            parameter.grad[0] = torch.inf
        scaler.step(optimizer)
        scaler.update()
    assert (skips.n_asked, skips.n_skipped) == (5, 3)


def test_a_scaler_that_is_off_and_steps_without_one_are_not_counted(skips):
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    parameter.sum().backward()
    torch.amp.GradScaler("cpu", enabled=False).step(optimizer)
    optimizer.step()
    assert (skips.n_asked, skips.n_skipped) == (0, 0)


def test_a_script_whose_scaler_skips_most_updates_is_diverged(scripts):
    found = scripts.run(TRAINING + SCALED + "train(100_000, lambda n: n % 4)")
    assert found.outcome == "diverged", found.traceback
    assert "own GradScaler skipped" in found.reason


def test_a_scaler_that_skips_some_updates_is_told_of(scripts):
    found = scripts.run(TRAINING + SCALED + "train(100_000, lambda n: n % 4 == 0)")
    assert found.outcome == "ok", found.traceback
    assert found.measurement.n_skipped_steps > 0


def test_losses_come_with_the_updates_skipped(scripts):
    text = TRAINING + SCALED + "train(100_000, lambda n: n % 4 == 0)"
    found = scripts.run(text, "losses", run={"steps": 9})
    assert found.outcome == "ok", found.traceback
    assert found.events[-1]["n_skipped_steps"] == 2


@pytest.mark.parametrize("kind", ["window", "probe", "losses"])
def test_the_first_step_is_told_in_each_kind_of_job(scripts, kind):
    found = scripts.run(TRAINING + "train(100_000)", kind, run={"steps": 3})
    assert "training" in [event["event"] for event in found.events]


def test_a_process_that_imports_torch_by_itself_has_that_in_its_start(scripts):
    text = TRAINING + "train(9999)"
    forked, anew = scripts.run(text), scripts.run(text, fresh=True)
    assert forked.process_start_s > 0
    assert anew.process_start_s == 0
