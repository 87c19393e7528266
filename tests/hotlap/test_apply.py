"""Every setting has its effect in torch on a whole workload, and what torch lacks is told."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from small_job import Images, workload
from torch import nn
from torch.utils.data import Dataset, IterableDataset

import hotlap
from hotlap.apply import Applied, apply, apply_process
from hotlap.in_force import disagreements, in_force
from hotlap.settings import Settings

F = nn.functional


pytestmark = pytest.mark.usefixtures("flags_as_before")


@pytest.mark.parametrize(
    "name, value",
    [
        ("memory_format", "channels_last"),
        ("amp", "bf16"),
        ("float32_matmul_precision", "high"),
        ("float32_matmul_precision", "medium"),
        ("cudnn_allow_tf32", False),
        ("cudnn_benchmark", True),
        ("cudnn_benchmark_limit", 0),
        ("cudnn_deterministic", True),
        ("intraop_threads", torch.get_num_threads() + 1),
        ("optimizer_kernel", "for_loop"),
        ("optimizer_kernel", "foreach"),
        ("optimizer_kernel", "fused"),
        ("sdpa_backend", "math"),
        ("num_workers", 1),
    ],
)
def test_a_setting_is_told_by_torch_itself_after_apply(name, value):
    before = in_force(apply(workload(), Settings()))
    assert before[name] != value
    applied = apply(workload(), Settings(**{name: value}))
    assert in_force(applied)[name] == value
    assert disagreements(applied) == [] and applied.notes == []
    assert torch.isfinite(applied.step(next(iter(applied.loader))))
    apply_process(Settings())


def test_defaults_leave_nothing_to_disagree_about():
    applied = apply(workload(), Settings())
    assert disagreements(applied) == []
    assert applied.n_epoch_steps == 4 and applied.device == torch.device("cpu")
    assert len(list(applied.loader)) == len(list(applied.loader)) == 4


def test_a_disagreement_is_found():
    applied = apply(workload(), Settings(cudnn_benchmark=True))
    torch.backends.cudnn.benchmark = False
    assert disagreements(applied) == ["cudnn_benchmark should be True, torch says False"]


@pytest.mark.parametrize("first", ["import hotlap.apply", "from hotlap import apply", "pass"])
def test_hotlap_apply_can_be_called_whoever_imported_what_before(first):
    code = f"{first}\nimport hotlap\nassert callable(hotlap.apply)\nfrom hotlap import apply\n"
    code += "assert callable(apply) and apply is hotlap.apply and callable(apply.apply_process)\n"
    code += "from hotlap.apply import apply as f\nassert callable(f)\nhotlap.loader, hotlap.Step"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there():
    for name in hotlap.__all__:
        assert getattr(hotlap, name) is not None


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(16))

    def forward(self, x):
        self.flash = torch.backends.cuda.flash_sdp_enabled()
        x = x * self.weight
        return F.scaled_dot_product_attention(x, x, x).mean()


class Tokens(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.randn(2, 4, 16)


def test_the_attention_kernel_is_the_only_one_left_inside_forward():
    made = {"model": Attending(), "dataset": Tokens(), "loss": lambda m, batch: m(batch)}
    for name, flash in (("math", False), ("flash", True)):
        applied = apply(workload(**made), Settings(sdpa_backend=name))
        applied.step(next(iter(applied.loader)))
        assert applied.model.flash == flash and in_force(applied)["sdpa_backend"] == name


def test_an_attention_kernel_that_cannot_run_is_an_invalid_trial():
    made = {"model": Attending(), "dataset": Tokens(), "loss": lambda m, batch: m(batch)}
    applied = apply(workload(**made), Settings(sdpa_backend="efficient"))
    with pytest.raises(hotlap.errors.InvalidTrial, match="sdpa_backend=efficient"):
        applied.step(next(iter(applied.loader)))


# Whose loader


class OnDevice(Images):
    def resident_batch(self, batch_size, collate_fn, device):
        samples = [self[i] for i in range(batch_size)]
        x, y = zip(*samples, strict=True)
        return torch.stack(x).to(device), torch.tensor(y, device=device)


def test_a_resident_batch_is_given_without_end_and_loader_settings_are_noted():
    applied = apply(workload(dataset=OnDevice()), Settings(num_workers=2, prefetch_factor=4))
    iterator = iter(applied.loader)
    assert next(iterator)[0] is next(iterator)[0] and applied.n_epoch_steps is None
    assert {note["setting"] for note in applied.notes} == {"num_workers", "prefetch_factor"}
    applied.step(next(iterator))


def test_the_workload_s_own_loader_arguments_stay_where_settings_are_silent():
    own = {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 4, "timeout": 60}
    applied = apply(workload(loader_defaults=own), Settings())
    assert (applied.loader.num_workers, applied.loader.prefetch_factor) == (2, 4)
    assert applied.settings.num_workers == 2 and applied.loader.timeout == 60
    assert {note["setting"] for note in applied.notes} == {
        "num_workers",
        "prefetch_factor",
        "persistent_workers",
    }
    applied = apply(workload(loader_defaults=own), Settings(num_workers=1, prefetch_factor=3))
    assert (applied.loader.num_workers, applied.loader.prefetch_factor) == (1, 3)


def test_an_iterable_dataset_is_not_shuffled_and_has_no_known_epoch():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter([Images()[i] for i in range(16)])

    applied = apply(replace(workload(), dataset=Stream(), shuffle=True), Settings())
    assert isinstance(applied, Applied) and applied.n_epoch_steps is None
    assert len(list(applied.loader)) == 2
