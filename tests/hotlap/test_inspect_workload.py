"""The facts say what a workload and its machine are like, and JSON can hold them."""

import json
import time
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

import hotlap
from hotlap import toolchain
from hotlap.inspect_workload import facts, sample_times, spawn_error
from hotlap.toolchain import device_facts, has_compiler

F = nn.functional


class Rows(Dataset):
    def __init__(self, n=32, width=6):
        self.n, self.width = n, width

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.randn(self.width), i % 2


class Growing(Rows):
    def __getitem__(self, i):
        return torch.randn(2 + i // 8), 0


class Waiting(Rows):
    def __getitem__(self, i):
        time.sleep(0.05)
        return super().__getitem__(i)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.attend(self.norm(x), x, x, need_weights=False)[0].mean()


class Sequences(Rows):
    def __getitem__(self, i):
        return torch.randn(4, 8)


def row_loss(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


def rows(**changes):
    values = {
        "model": nn.Linear(6, 2),
        "dataset": Rows(),
        "loss": row_loss,
        "optimizer": lambda parameters, **kernel: torch.optim.Adam(parameters, **kernel),
        "batch_size": 8,
    }
    return hotlap.Workload(**{**values, **changes})


def test_facts_of_a_plain_workload():
    found = facts(rows())
    assert json.loads(json.dumps(found)) == found
    expected = {
        "torch": torch.__version__,
        "device": "cpu",
        "fp16": False,
        "tf32": False,
        "capability": None,
        "device_memory_bytes": None,
        "cuda_allocator": None,
        "optimizer": "Adam",
        "optimizer_kernels": ["for_loop", "foreach", "fused"],
        "conv2d": False,
        "batch_norm": False,
        "model_called": True,
        "attention": False,
        "sdpa_backends": [],
        "resident": False,
        "loader": True,
        "iterable_dataset": False,
        "spawn_error": "",
        "shapes_vary": False,
        "n_parameters": 14,
        "batch_size": 8,
        "n_epoch_steps": 4,
        "batch_bytes": 8 * 6 * 4 + 8 * 8,
        "default_intraop_threads": torch.get_num_threads(),
    }
    assert {name: found[name] for name in expected} == expected
    assert found["device_name"] and found["sample_wall_s"] > 0


def test_attention_is_seen_inside_torch_s_own_layers_and_only_kernels_that_run_are_named():
    made = rows(model=Attention(), dataset=Sequences(), loss=lambda model, batch: model(batch))
    found = facts(made)
    assert found["attention"] and found["batch_norm"]
    assert found["sdpa_backends"] == ["math", "flash"]  # a CPU has no other
    assert found["sdpa_backends_float32"] == ["math", "flash"]


def test_images_a_resident_batch_and_a_loss_that_never_calls_the_model():
    class OnDevice(Rows):
        def resident_batch(self, batch_size, collate_fn, device):
            return torch.randn(batch_size, 3, 8, 8, device=device)

    made = rows(
        model=nn.Sequential(nn.Conv2d(3, 4, 3)),
        dataset=OnDevice(),
        loss=lambda model, batch: model[0](batch).mean(),
    )
    found = facts(made)
    assert found["conv2d"] and found["resident"] and not found["loader"]
    assert found["n_epoch_steps"] is None and found["model_called"] is False
    assert found["batch_bytes"] == 8 * 3 * 8 * 8 * 4 and found["sample_wall_s"] == 0.0


def test_shapes_that_vary_from_batch_to_batch_are_seen():
    made = rows(
        model=nn.Linear(1, 1),
        dataset=Growing(),
        shuffle=False,
        loss=lambda model, batch: model(batch[0].mean(1, keepdim=True)).mean(),
    )
    assert facts(made)["shapes_vary"] is True


def test_an_iterable_dataset_is_named():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter([(torch.randn(6), 0)] * 32)

    found = facts(rows(dataset=Stream()))
    assert found["iterable_dataset"] and found["n_epoch_steps"] is None
    assert found["stream_sharing"] == "repeated"  # 32 samples, and 64 from two workers


def test_waiting_data_use_little_cpu():
    cpu_s, wall_s = sample_times(DataLoader(Waiting()))
    assert wall_s >= 0.05 and cpu_s < 0.5 * wall_s
    assert sample_times(DataLoader(Rows(n=0))) == (0.0, 0.0)


class Broken(Rows):
    def __getitem__(self, i):
        raise KeyError(i)


def test_samples_that_cannot_be_drawn_here_take_no_time():
    assert sample_times(DataLoader(Broken())) == (0.0, 0.0)


@pytest.mark.parametrize("part", ["dataset", "collate_fn", "worker_init_fn"])
def test_what_cannot_be_pickled_is_named(part):
    broken = Rows()
    broken.transform = lambda x: x
    made = rows(**{part: broken if part == "dataset" else lambda x: x})
    assert spawn_error(made).startswith(part) and "lambda" in spawn_error(made)
    assert spawn_error(rows()) == ""


class Words(Rows):
    def __getitem__(self, i):
        return torch.tensor([i % 10]), i % 2


def test_a_kernel_that_refuses_the_real_gradients_is_none_of_the_workload_s():
    made = rows(
        model=nn.Sequential(nn.Embedding(10, 4, sparse=True), nn.Flatten(), nn.Linear(4, 2)),
        dataset=Words(),
        optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.1, **kernel),
    )
    assert facts(made)["optimizer_kernels"] == ["for_loop", "foreach"]


class AttentionOverWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 8, sparse=True)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        x = self.words(x)
        return self.attend(x, x, x, need_weights=False)[0].flatten(1)[:, :2]


def test_the_real_gradients_are_tried_where_attention_kernels_are_tried_too():
    made = rows(
        model=AttentionOverWords(),
        dataset=Words(),
        optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.1, **kernel),
    )
    found = facts(made)
    assert found["attention"] and found["sdpa_backends"]
    assert found["optimizer_kernels"] == ["for_loop", "foreach"]


def test_lazy_layers_are_seen_for_what_they_become():
    model = nn.Sequential(nn.LazyLinear(8), nn.Unflatten(1, (2, 2, 2)), nn.LazyConv2d(2, 1))
    found = facts(rows(model=nn.Sequential(model, nn.Flatten(), nn.LazyLinear(2))))
    assert found["conv2d"] and found["optimizer_kernels"] == ["for_loop", "foreach", "fused"]


class Graph:
    def __init__(self, samples):
        self.x, self.y = (torch.stack([torch.as_tensor(s[i]) for s in samples]) for i in (0, 1))


def test_a_batch_of_the_user_s_own_class_is_refused_before_any_trial():
    made = rows(collate_fn=Graph, loss=lambda model, batch: row_loss(model, (batch.x, batch.y)))
    with pytest.raises(hotlap.errors.InvalidTrial, match=r"type Graph .* Workload\(n_samples="):
        facts(made)
    made.n_samples = lambda batch: len(batch.y)
    assert facts(made)["batch_size"] == 8


def test_an_empty_loader_is_an_error_that_says_what_to_do():
    with pytest.raises(hotlap.errors.InvalidTrial, match="make the batch smaller"):
        facts(rows(dataset=Rows(n=4)))


def test_a_missing_compiler_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "")
    assert has_compiler(torch.device("cpu")) is False


@pytest.mark.parametrize(("major", "compiles"), [(6, False), (7, True)])
def test_triton_takes_no_gpu_before_volta(monkeypatch, tmp_path, major, compiles):
    properties = SimpleNamespace(major=major, minor=0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(toolchain, "_first_working", lambda names: True)
    (tmp_path / "Python.h").touch()
    monkeypatch.setattr(toolchain.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    assert has_compiler(torch.device("cuda")) is compiles


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_facts_of_a_cuda_device():
    found = device_facts(torch.device("cuda"))
    assert found["fp16"] and found["device_name"] == torch.cuda.get_device_name()
    assert found["bf16"] == found["tf32"] == (found["capability"] >= [8, 0])
    here = torch.cuda.get_device_properties(0)
    assert found["device_memory_bytes"] == here.total_memory
    assert found["capability"] == [here.major, here.minor]
    assert found["cuda_allocator"] == "native"
