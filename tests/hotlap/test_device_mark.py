import pytest
import torch

from hotlap.device_mark import DeviceMark

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
DEVICE = torch.device("cuda")


def busy(n=20):
    """Kernels for some tens of milliseconds."""
    x = torch.randn(4096, 4096, device=DEVICE)
    for _ in range(n):
        x = x @ x / 4096
    return x


def test_a_mark_is_passed_before_what_is_queued_behind_it():
    busy(2)  # loads the kernels
    mark = DeviceMark(DEVICE)
    passed = mark(busy().sum())
    behind = torch.cuda.Event()
    busy(200)
    behind.record()
    loss = passed()
    assert not behind.query()
    assert loss.device.type == "cpu"
    torch.cuda.synchronize()


def test_the_loss_is_the_one_at_the_mark_in_any_precision():
    mark = DeviceMark(DEVICE)
    for value in (2.5, float("nan")):
        for dtype in (torch.float32, torch.bfloat16, torch.float64):
            loss = torch.full((1,), value, device=DEVICE, dtype=dtype)
            passed = mark(loss)
            loss.zero_()
            assert float(passed()) == pytest.approx(value, nan_ok=True)


def test_a_default_device_is_none_of_the_mark_s_business():
    torch.set_default_device(DEVICE)
    try:
        mark = DeviceMark(DEVICE)
        assert float(mark(torch.full((), 2.5))()) == 2.5
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize("loss", [None, 1.5])
def test_a_loss_in_host_memory_comes_back_as_it_is(loss):
    assert DeviceMark(DEVICE)(loss)() == loss
