"""Facts of scripts, found while they train."""

import pytest

from reports import found_in_script
from tests.hotlap.script.script_texts import TRAINING


def test_a_plain_script_with_its_own_loader_arguments(scripts):
    text = TRAINING.replace(
        "batch_size=8,", "batch_size=8, num_workers=1, persistent_workers=True,"
    )
    facts = scripts.facts(text + "torch.set_num_threads(1)\ntrain(100)")
    own = facts["own_settings"]
    assert (own["num_workers"], own["persistent_workers"], own["intraop_threads"]) == (1, True, 1)
    assert facts["loader"] and facts["batch_size"] == 8 and facts["n_epoch_steps"] == 8
    assert facts["fixed_order"] == "" and facts["dataset_changes"] == ""
    assert facts["optimizer"] == "SGD" and "fused" in facts["optimizer_kernels"]
    assert facts["n_parameters"] == 8 * 16 + 16 + 16 + 1
    assert facts["conv2d"] is False and facts["device"] == "cpu"
    assert set(facts["unreached"]) == {
        "memory_format",
        "non_blocking",
        "set_to_none",
        "micro_batch_size",
        "amp=fp16",
    }


def test_workers_that_would_run_the_script_again(scripts):
    assert "outside" in scripts.facts(TRAINING + "train(100)")["spawn_error"]
    guarded = TRAINING + "if __name__ == '__main__':\n    train(100)"
    assert scripts.facts(guarded)["spawn_error"] == ""


def test_a_script_without_a_loader(scripts):
    text = """
    import torch
    model = torch.nn.Conv2d(1, 2, 3)
    optimizer = torch.optim.Adadelta(model.parameters())
    torch.backends.cudnn.benchmark = True
    for _ in range(20):
        model(torch.randn(1, 1, 8, 8)).mean().backward()
        optimizer.step()
    """
    facts = scripts.facts(text)
    assert facts["loader"] is False
    assert "no DataLoader seen" in facts["unreached"]["num_workers"]
    assert "memory_format" not in facts["unreached"]
    assert facts["conv2d"] is True
    assert "fused" not in facts["optimizer_kernels"]
    assert facts["own_settings"]["cudnn_benchmark"] is True


def test_its_own_precision_and_compilation_stay(scripts):
    text = TRAINING.replace(
        "loss = nn.functional.mse_loss(model(x), y)",
        "with torch.autocast('cpu', dtype=torch.bfloat16): loss = (model(x) - y).square().mean()",
    )
    facts = scripts.facts(text + "train(10)")
    assert "autocast of its own" in facts["unreached"]["amp"]
    found = scripts.facts(text + "train(10)", override=["amp"])
    assert "amp" not in found["unreached"]


def test_a_script_that_ends_after_a_few_steps_tells_as_much(scripts):
    text = TRAINING.replace("torch.randn(64", "torch.randn(24")
    assert scripts.facts(text + "train(1)")["n_epoch_steps"] == 3


def test_a_script_that_does_not_train_is_invalid(scripts):
    found = scripts.run("import torch", kind="probe")
    assert found.outcome == "invalid"
    assert "no torch.optim optimizer" in found.reason


def test_the_attention_kernels_of_a_model_that_calls_it(scripts):
    text = (
        TRAINING
        + """
class Attend(nn.Module):
    def forward(self, x):
        q = x.reshape(1, 1, 8, 1) * torch.ones(8)
        return nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)[0, 0, :, :1]

model.append(Attend())
train(100)
"""
    )
    facts = scripts.facts(text)
    assert facts["attention"] is True and "sdpa_backend" not in facts["unreached"]
    assert {"math", "flash"} <= set(facts["sdpa_backends_float32"])


def test_its_own_layout_and_tf32_are_its_baseline(scripts):
    text = """
    import numpy as np, torch
    from torch.utils.data import DataLoader, TensorDataset
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = False
    rows = TensorDataset(torch.randn(64, 3, 8, 8))
    kept = {"num_workers": np.int64(1), "persistent_workers": 1}
    loader = DataLoader(rows, batch_size=8, pin_memory=True, **kept)
    model = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    for epoch in range(100):
        for (x,) in loader:
            model(x).mean().backward()
            optimizer.step()
    """
    facts = scripts.facts(text)
    own = facts["own_settings"]
    assert (own["float32_matmul_precision"], own["cudnn_allow_tf32"]) == ("high", False)
    assert own["memory_format"] == "channels_last"
    assert (own["num_workers"], own["persistent_workers"]) == (1, True)
    told = " ".join(found_in_script(facts["script"], facts["scratch"], (), own))
    for words in ("pin_memory=True", "memory_format=channels_last", "optimizer_kernel=fused"):
        assert words in told


STREAM = """
import torch
from torch.utils.data import DataLoader, IterableDataset

class Stream(IterableDataset):
    def __iter__(self):
        return iter(torch.arange(400.0)[:, None])

loader = DataLoader(Stream(), batch_size=4)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
for x in loader:
    model(x).mean().backward()
    optimizer.step()
"""


def test_what_the_probe_makes_itself_is_not_the_script_s(scripts):
    facts = scripts.facts(STREAM)
    assert facts["stream_sharing"] == "repeated" and facts["sample_wall_s"] is not None
    (loader,) = facts["script"]["loaders"]
    assert (loader["dataset"], loader["n_iterators"]) == ("Stream", 1)
    assert "Stream is a stream" in facts["unreached"]["num_workers"]
    assert facts["model_called"] and facts["script"]["roots"][0]["name"] == "Linear"


def test_a_stream_is_not_asked_by_workers_that_would_run_the_whole_script(scripts):
    text = """
import os, torch.multiprocessing
torch.multiprocessing.set_start_method("spawn", force=True)
open(f"ran in {os.getpid()}", "w").close()
"""
    facts = scripts.facts(text + STREAM)
    assert facts["stream_sharing"] == "unknown" and "outside" in facts["spawn_error"]
    assert len(list(scripts.folder.glob("ran in *"))) == 1


OTHER_INDICES = """
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler

x, y = torch.randn(64, 8), torch.randn(64, 1)

class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, asked):
        {draw}

class Order:
    batch_size = 8

    def __iter__(self):
        return iter({order})

    def __len__(self):
        return 8

loader = DataLoader({made})
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(100):
    for a, b in loader:
        optimizer.zero_grad()
        (model(a) - b).square().mean().backward()
        optimizer.step()
"""
BATCHES = "[[{0} for i in range(k * 8, k * 8 + 8)] for k in range(8)]"


@pytest.mark.parametrize(
    ("draw", "order", "made"),
    [
        (
            "assert type(asked) is list; return x[asked], y[asked]",
            "()",
            "Rows(), batch_size=None, sampler=BatchSampler(SequentialSampler(x), 8, False)",
        ),
        (
            "i, scale = asked; return scale * x[i], y[i]",
            BATCHES.format("(i, 0.5)"),
            "Rows(), batch_sampler=Order()",
        ),
        (
            "i = int(asked.removeprefix('row')); return x[i], y[i]",
            BATCHES.format("f'row{i}'"),
            "Rows(), batch_sampler=Order()",
        ),
        (
            "return x[asked], y[asked]",
            BATCHES.format("i"),
            "type('NoLength', (Rows,), {'__len__': None})(), batch_sampler=Order()",
        ),
    ],
    ids=["lists", "tuples", "names", "no length"],
)
def test_a_dataset_that_is_not_indexed_from_0_on(scripts, draw, order, made):
    facts = scripts.facts(OTHER_INDICES.format(draw=draw, order=order, made=made))
    assert (facts["batch_size"], facts["n_epoch_steps"]) == (8, 8)
    assert facts["sample_wall_s"] > 0 and facts["dataset_changes"] == ""


AHEAD = """
def train_ahead(n_epochs):
    for epoch in range(n_epochs):
        batches = iter(loader)
        batch, following = None, next(batches)
        while following is not None:
            batch, following = following, next(batches, None)
            optimizer.zero_grad()
            (model(batch[0]) - batch[1]).square().mean().backward()
            optimizer.step()

train_ahead(100)
"""


def test_a_script_that_fetches_one_batch_ahead(scripts):
    facts = scripts.facts(TRAINING.replace("torch.randn(64", "torch.randn(24") + AHEAD)
    assert facts["shapes_vary"] is False and facts["batch_bytes"] == 8 * 9 * 4
    assert facts["batch_shapes"] == ["float32 (8, 1)", "float32 (8, 8)"]
