"""The model: its memory format, compiled in place, its lazy parameters."""

import pytest
import torch
from small_job import Net, workload
from torch import nn
from torch.utils.data import Dataset

import hotlap
from hotlap.apply import apply
from hotlap.in_force import batch_layouts, in_force
from hotlap.modules import first_parameter
from hotlap.settings import Settings

pytestmark = pytest.mark.usefixtures("flags_as_before")


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.series = nn.Conv2d(3, 4, 3), nn.Conv1d(4, 4, 3)
        self.clip = nn.Conv3d(2, 4, 3)

    def forward(self, image, series, clip):
        return self.image(image).mean() + self.series(series).mean() + self.clip(clip).mean()

    def to(self, device):
        return super().to(device)


class Samples(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        clip = torch.randn(2, 4, 8, 8)
        return {"image": torch.randn(3, 8, 8), "series": torch.randn(4, 20), "clip": clip}


def test_only_4d_parameters_and_inputs_become_channels_last_even_if_to_is_overridden():
    mixed = workload(model=Mixed(), dataset=Samples(), loss=lambda model, batch: model(**batch))
    applied = apply(mixed, Settings(memory_format="channels_last"))
    assert applied.model.image.weight.stride() == (27, 1, 9, 3)
    assert applied.model.series.weight.is_contiguous()
    assert applied.model.clip.weight.is_contiguous()
    batch = next(iter(applied.loader))
    assert batch_layouts(applied, batch) == [
        ((8, 3, 8, 8), "channels_last"),
        ((8, 4, 20), "contiguous"),
        ((8, 2, 4, 8, 8), "contiguous"),
    ]
    applied.step(batch)
    assert applied.model.image.weight.grad.stride() == (27, 1, 9, 3)


def test_a_model_without_4d_parameters_gets_a_note_about_channels_last():
    applied = apply(
        workload(model=nn.Sequential(nn.Flatten(), nn.Linear(192, 2))),
        Settings(memory_format="channels_last"),
    )
    assert [note["setting"] for note in applied.notes] == ["memory_format"]


def test_the_model_sees_channels_last_batches_only_when_asked():
    for layout in ("contiguous", "channels_last"):
        applied = apply(workload(), Settings(memory_format=layout))
        applied.step(next(iter(applied.loader)))
        assert applied.model.seen == [(layout == "channels_last", 8)]


def test_compile_works_in_place_and_passes_the_mode(monkeypatch):
    asked = {}
    real = nn.Module.compile

    def compile(self, *args, **kwargs):
        asked.update(kwargs)
        real(self, backend="eager")

    monkeypatch.setattr(nn.Module, "compile", compile)
    made = workload()
    keys = list(made.model.state_dict())
    applied = apply(made, Settings(compile_mode="max-autotune"))
    assert asked == {"mode": "max-autotune"}
    assert applied.model is made.model and isinstance(applied.model, Net)
    assert list(applied.model.state_dict()) == keys
    torch._dynamo.reset()
    applied.step(next(iter(applied.loader)))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0


def lazy_net():
    return nn.Sequential(nn.LazyConv2d(4, 3), nn.Flatten(), nn.LazyLinear(2))


@pytest.mark.parametrize(
    "name, value",
    [
        ("memory_format", "channels_last"),
        ("optimizer_kernel", "for_loop"),
        ("optimizer_kernel", "foreach"),
        ("optimizer_kernel", "fused"),
    ],
)
def test_lazy_parameters_have_every_setting_in_force_like_others(name, value):
    applied = apply(workload(model=lazy_net()), Settings(**{name: value}))
    assert applied.notes == [] and in_force(applied)[name] == value
    assert torch.isfinite(applied.step(next(iter(applied.loader))))


def test_an_optimizer_over_lazy_parameters_keeps_its_kernel_with_a_note():
    notes = []
    settings = Settings(optimizer_kernel="fused")
    built = hotlap.optimizer(torch.optim.SGD, lazy_net().parameters(), settings, notes=notes)
    (note,) = notes
    assert note["setting"] == "optimizer_kernel" and "lazy parameter" in note["reason"]
    assert not built.param_groups[0]["fused"]


def test_the_first_parameter_is_the_one_that_torch_gives_first():
    nothing, below = nn.Linear(2, 1, bias=False), nn.Sequential(nn.ReLU(), nn.Linear(2, 1))
    nothing.register_parameter("weight", None)
    within = nn.Sequential(nn.Module(), below)
    within[0].holder = within  # a part that holds what it is a part of
    for module in (nn.ReLU(), nothing, below, within, nn.Sequential(nothing, below), lazy_net()):
        module.register_module("none", None)
        assert first_parameter(module) is next(module.parameters(), None)
