"""No device's work is timed by its queueing: each is waited for, or refused."""

import pytest
import torch

from hotlap.device_wait import device_wait
from hotlap.errors import InvalidTrial

XPU = torch.device("xpu:1")


@pytest.mark.parametrize("kind", ["cpu", "meta"])
def test_what_is_done_at_once_is_not_waited_for(kind):
    assert device_wait(torch.device(kind))() is None


def test_the_accelerator_of_this_torch_is_waited_for(monkeypatch):
    waited = []
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("xpu"))
    monkeypatch.setattr(torch.accelerator, "synchronize", waited.append)
    device_wait(XPU)()
    assert waited == [XPU]


@pytest.mark.parametrize("current", [None, torch.device("cuda")])
def test_another_device_is_waited_for_by_its_own_module(monkeypatch, current):
    waited = []
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: current)
    monkeypatch.setattr(torch.xpu, "synchronize", waited.append)
    device_wait(XPU)()
    assert waited == [XPU]


def test_a_torch_without_accelerators_asks_the_device_s_module(monkeypatch):
    waited = []
    monkeypatch.delattr(torch, "accelerator")
    monkeypatch.setattr(torch.xpu, "synchronize", waited.append)
    device_wait(XPU)()
    assert waited == [XPU]


def test_a_device_that_cannot_be_waited_for_is_refused():
    with pytest.raises(InvalidTrial, match=r"runs on vulkan, and torch has no torch\.vulkan\.sync"):
        device_wait(torch.device("vulkan"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_cuda_device_is_idle_afterwards():
    device = torch.device("cuda")
    x = torch.randn(4096, 4096, device=device)
    for _ in range(50):
        x = x @ x / 4096
    device_wait(device)()
    assert torch.cuda.current_stream(device).query()
