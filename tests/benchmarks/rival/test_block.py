import subprocess
import sys

import pytest
import torch

from benchmarks.machine import ROOT
from benchmarks.rival import block, grid
from benchmarks.rival.loops import computing, convnet, transformer, waiting
from benchmarks.rival.start import complete

LOOPS = {"waiting": waiting, "computing": computing, "convnet": convnet, "transformer": transformer}


class Seen:
    """A loop of four samples that remembers what its model was given."""

    BATCH_SIZE, N_SAMPLES, DEVICE = 2, 4, "cpu"

    def __init__(self):
        self.inputs = []
        self.outputs = []

    def make_dataset(self):
        return torch.utils.data.TensorDataset(torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 0, 1]))

    def make_model(self):
        seen = self

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Conv2d(3, 2, 8)

            def forward(self, x):
                seen.inputs.append(x)
                y = self.layer(x).flatten(1)
                seen.outputs.append(y)
                return y

        return Model()

    def loss_of(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs, targets)


def trained(**settings):
    """What the model saw in an epoch with these settings."""
    loop, whole = Seen(), complete(settings)
    loader, step = block.make_loader(loop, whole), block.make_step(loop, whole)
    n_samples, took_s = block.train(loader, step, 0.0, 600.0)
    assert n_samples == 4 and took_s > 0
    return loop


def test_an_epoch_with_the_defaults_is_the_plain_one():
    loop = trained()
    assert len(loop.inputs) == 2
    assert loop.outputs[0].dtype == torch.float32 and loop.inputs[0].is_contiguous()


def clock_of(monkeypatch, step_s):
    """A clock on which only steps take time; the step."""
    now = [0.0]
    monkeypatch.setattr(block.time, "perf_counter", lambda: now[0])

    def step(inputs, targets):
        now[0] += step_s

    return step


def test_what_is_timed_is_whole_epochs(monkeypatch):
    loader = block.make_loader(Seen(), complete({}))  # two steps an epoch
    assert block.train(loader, clock_of(monkeypatch, 1.0), 3.0, 600.0) == (8, 4.0)


def test_slow_settings_are_cut_off_within_an_epoch_after_the_least_steps(monkeypatch):
    loader = block.make_loader(Seen(), complete({}))
    assert block.train(loader, clock_of(monkeypatch, 9.0), 1.0, 5.0) == (2, 9.0)
    assert block.train(loader, clock_of(monkeypatch, 9.0), 50.0, 5.0, least=3) == (12, 54.0)


def test_bits_layout_and_smaller_batches_are_in_force():
    loop = trained(amp="bf16", memory_format="channels_last", micro_batch_size=1)
    assert len(loop.inputs) == 4
    assert {y.dtype for y in loop.outputs} == {torch.bfloat16}
    assert all(x.is_contiguous(memory_format=torch.channels_last) for x in loop.inputs)


def test_smaller_batches_give_the_same_gradients():
    losses = []
    for size in (None, 1):
        torch.manual_seed(0)
        loop = Seen()
        model = loop.make_model()
        loop.make_model = lambda model=model: model
        whole = complete({"micro_batch_size": size})
        step = block.make_step(loop, whole)
        step(torch.randn(2, 3, 8, 8), torch.tensor([0, 1]))
        losses.append(model.layer.weight.grad)
    torch.testing.assert_close(*losses)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [("default", (None, None)), ("for_loop", (False, None)), ("foreach", (True, None)),
     ("fused", (None, True))],
)  # fmt: skip
def test_the_optimizers_kernel_is_the_asked_one(kernel, expected):
    optimizer = block.make_optimizer(torch.nn.Linear(2, 2), complete({"optimizer_kernel": kernel}))
    group = optimizer.param_groups[0]
    assert (group["foreach"], group["fused"]) == expected


def test_the_loader_has_what_is_set_and_nothing_of_workers_without_them():
    whole = complete({"num_workers": 2, "prefetch_factor": 4, "persistent_workers": True})
    loader = block.make_loader(Seen(), whole)
    assert (loader.num_workers, loader.prefetch_factor, loader.persistent_workers) == (2, 4, True)
    none = block.make_loader(Seen(), complete({"prefetch_factor": 4, "persistent_workers": True}))
    assert (none.num_workers, none.prefetch_factor, none.persistent_workers) == (0, None, False)


@pytest.mark.parametrize("loop", grid.GRIDS)
def test_each_loop_trains_and_its_samples_are_whole_batches(loop):
    module = LOOPS[loop]
    assert module.N_SAMPLES % module.BATCH_SIZE == 0 and module.N_SAMPLES == len(
        module.make_dataset()
    )
    loader = block.make_loader(module, complete({}))
    step = block.make_step(module, complete({}))
    step(*next(iter(loader)))


def test_the_judges_process_has_nothing_of_ours_or_of_a_tuners():
    code = (
        "import sys, benchmarks.rival.block, benchmarks.rival.loops.convnet; "
        "loaded = {name.partition('.')[0] for name in sys.modules}; "
        "print(sorted(loaded & {'hotlap', 'optuna', 'studies', 'hydra'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
