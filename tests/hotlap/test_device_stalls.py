import time
from types import SimpleNamespace

import pytest
import torch

from hotlap.device_stalls import DeviceStalls

CYCLES = 600_000_000
"""Three tenths of a second at 2 GHz, or somewhat less, for which the stream is kept busy."""


@pytest.fixture
def device(monkeypatch):
    """A device beside the host, in numbers: it works until `idle_at`, and `made` are its events."""
    device = SimpleNamespace(now=0.0, idle_at=0.0, made=[])

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing
            device.made.append(self)

        def record(self, stream):
            self.at = max(device.now, device.idle_at)

        def query(self):
            return self.at <= device.now

        def elapsed_time(self, later):
            return 1e3 * (later.at - self.at)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: None)
    return device


def waits(stalls, device, seconds):
    stalls.begin()
    device.now += seconds
    stalls.end()


def test_of_each_wait_what_is_left_of_it_when_the_device_has_nothing_to_do_counts(device):
    stalls = DeviceStalls(torch.device("cuda"))
    for busy_s, wait_s in ((0.0, 2.0), (5.0, 2.0), (5.0, 9.0)):
        device.idle_at = device.now + busy_s
        waits(stalls, device, wait_s)
        device.now = max(device.now, device.idle_at)
    assert stalls.seconds() == 2.0 + 0.0 + 4.0


def test_what_the_device_has_not_passed_is_counted_later_and_events_are_used_again(device):
    stalls = DeviceStalls(torch.device("cuda"))
    for n in range(1, 10):
        device.idle_at = device.now + 1.0
        waits(stalls, device, 3.0)
        device.idle_at = device.now + 7.0
        waits(stalls, device, 5.0)  # the device goes on for two seconds
        assert stalls.seconds() == 2.0 * n
        device.now += 2.0
    assert len(device.made) == 6


def test_a_wait_that_came_to_nothing_is_none(device):
    stalls = DeviceStalls(torch.device("cuda"))
    stalls.end()
    stalls.begin()  # an epoch's end
    device.now += 50.0
    waits(stalls, device, 3.0)
    assert stalls.seconds() == 3.0


def sleeps(stalls, seconds):
    stalls.begin()
    time.sleep(seconds)
    stalls.end()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_real_device_tells_a_wait_while_it_is_busy_from_one_while_it_is_idle():
    stalls = DeviceStalls(torch.device("cuda"))
    torch.cuda.synchronize()
    torch.cuda._sleep(CYCLES)
    sleeps(stalls, 0.05)
    assert stalls.seconds() == 0.0  # it has not come there yet
    torch.cuda.synchronize()
    busy_s = stalls.seconds()
    sleeps(stalls, 0.05)
    torch.cuda.synchronize()
    assert busy_s < 0.01 < 0.049 < stalls.seconds() - busy_s
