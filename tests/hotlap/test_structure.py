"""The digest of a workload's structure: the same in each process, and another for another model."""

import inspect
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.data import ConcatDataset, Subset, TensorDataset

from hotlap.inspect_workload import facts
from hotlap.structure import batch_shapes, dataset_kind, model_digest
from hotlap.workload import Workload


def net(width=8, stride=1, p=0.1, names=("a", "b")):
    layers = [nn.Conv2d(3, width, 3, stride=stride), nn.BatchNorm2d(width), nn.Dropout(p)]
    return nn.Sequential(*layers, nn.ModuleDict({names[0]: nn.Linear(4, 4), names[1]: nn.ReLU()}))


def test_it_is_the_same_in_another_process_and_with_other_weights():
    code = (
        "from torch import nn\nfrom hotlap.structure import model_digest\n"
        f"{inspect.getsource(net)}\nprint(model_digest(net()))\n"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    torch.manual_seed(5)
    assert {*told, model_digest(net())} == {told[0]}
    assert model_digest(net(names=("c", "d"))) == told[0]


def test_whatever_changes_a_steps_work_changes_it():
    frozen = net()
    frozen[0].weight.requires_grad_(False)
    models = [
        net(),
        net(width=16),
        net(stride=2),
        net(p=0.2),
        net().double(),
        nn.Sequential(net(), nn.ReLU()),
        frozen,
    ]
    assert len({model_digest(model) for model in models}) == len(models)


def test_a_users_own_words_about_a_layer_do_not_count():
    class Talks(nn.Module):
        def extra_repr(self):
            return f"at {id(self)}"

    assert model_digest(nn.Sequential(Talks())) == model_digest(nn.Sequential(Talks()))


def test_a_dataset_is_told_with_those_that_it_wraps():
    rows = TensorDataset(torch.zeros(8, 2))
    inside = "torch.utils.data.dataset"
    assert dataset_kind(rows) == f"{inside}.TensorDataset"
    assert dataset_kind(Subset(rows, [1, 2])) == f"{inside}.Subset of {inside}.TensorDataset"
    both = ConcatDataset([rows, rows])
    assert dataset_kind(both) == f"{inside}.ConcatDataset of {inside}.TensorDataset"


def test_shapes_that_vary_are_told_by_their_dimensions():
    image, label = torch.zeros(8, 3, 4, 4), torch.zeros(8, dtype=torch.long)
    assert batch_shapes([[image, label]] * 2) == ["float32 (8, 3, 4, 4)", "int64 (8,)"]
    varying = [[torch.zeros(n), label[:n]] for n in (3, 5)]
    assert batch_shapes(varying) == ["float32 1 dimensions", "int64 1 dimensions"]


@pytest.mark.parametrize("lazy", [False, True])
def test_the_probe_tells_them_of_a_lazy_model_too(lazy):
    def made():
        return Workload(
            model=nn.Sequential(nn.LazyLinear(2) if lazy else nn.Linear(6, 2)),
            dataset=TensorDataset(torch.randn(32, 6), torch.zeros(32, dtype=torch.long)),
            loss=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
            optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.1, **kernel),
            batch_size=8,
        )

    names = ("model_digest", "dataset_kind", "batch_shapes")
    first, second = (facts(made()) for _ in range(2))
    assert [first[name] for name in names] == [second[name] for name in names]
    assert first["model_digest"] == model_digest(nn.Sequential(nn.Linear(6, 2)))
    assert first["batch_shapes"] == ["float32 (8, 6)", "int64 (8,)"]
