import threading
import time
from types import SimpleNamespace

import pynvml
import pytest

from runners import gpu_watch as module
from runners.gpu_watch import GpuWatch, Sample, means, read, throttle_reasons, visible_device


def nvml_is_here() -> bool:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return False
    pynvml.nvmlShutdown()
    return True


def samples(name: str, values: list[float]) -> list[Sample]:
    """One reading each second, from t=0."""
    return [Sample(float(t), {name: value}) for t, value in enumerate(values)]


@pytest.mark.skipif(nvml_is_here(), reason="this machine has NVML")
def test_a_machine_without_nvml_gives_nothing_and_says_nothing(capfd):
    with GpuWatch() as watch:
        watch.follow(0)
        assert watch.others(0) == {}
    assert watch.means() == {}
    assert capfd.readouterr() == ("", "")
    assert "gpu-watch" not in {t.name for t in threading.enumerate()}


@pytest.mark.gpu
@pytest.mark.skipif(not nvml_is_here(), reason="no NVML on this machine")
def test_a_gpu_tells_its_memory_and_its_thread_ends():
    with GpuWatch(period_s=0.02) as watch:
        watch.follow(0)
        time.sleep(0.5)
    assert watch.means()["gpu_memory_bytes"] > 0
    assert "gpu-watch" not in {t.name for t in threading.enumerate()}


def test_a_gpu_that_the_environment_hides_is_not_watched(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with GpuWatch() as watch:
        watch.follow(0)
        assert watch.others(0) == {}
    assert watch.means() == {}


class Nvml:
    """Two GPUs and a slice of the second one, as NVML tells of them."""

    NVMLError = pynvml.NVMLError
    nvmlMemory_v2 = pynvml.nvmlMemory_v2
    uuids = ("GPU-aa11-22", "GPU-bb33-44")
    running = {"GPU-aa11-22": [], "GPU-bb33-44": [101, 102]}

    def nvmlDeviceGetCount(self):
        return len(self.uuids)

    def nvmlDeviceGetHandleByIndex(self, i):
        return self.uuids[i]

    def nvmlDeviceGetUUID(self, handle):
        return handle

    def nvmlDeviceGetName(self, handle):
        return "H100"

    def nvmlDeviceGetHandleByUUID(self, uuid):
        if uuid != "MIG-cc55-66":
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return uuid

    def nvmlDeviceGetComputeRunningProcesses_v3(self, handle):
        return self.running[handle]

    def nvmlDeviceGetMemoryInfo(self, handle, version=None):
        if version is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return SimpleNamespace(used=7)

    def nvmlShutdown(self):
        pass


@pytest.mark.parametrize(
    ("device", "handle"),
    [
        (1, "GPU-bb33-44"),
        ("bb33-44", "GPU-bb33-44"),  # as torch writes it
        ("GPU-bb33-44", "GPU-bb33-44"),
        ("cc55-66", "MIG-cc55-66"),
        ("MIG-cc55-66", "MIG-cc55-66"),
        ("dd", None),
    ],
)
def test_a_device_is_found_by_its_number_or_its_uuid_and_a_slice_by_its_own(device, handle):
    assert module._handle(Nvml(), device, {}) == handle


class Refusing(Nvml):
    """A third GPU, which is not this process's to use and stands before the others."""

    def nvmlDeviceGetCount(self):
        return 3

    def nvmlDeviceGetHandleByIndex(self, i):
        if i == 0:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NO_PERMISSION)
        return self.uuids[i - 1]

    def nvmlDeviceGetHandleByUUID(self, uuid):
        if uuid in self.uuids:
            return uuid
        return super().nvmlDeviceGetHandleByUUID(uuid)


@pytest.mark.parametrize(
    ("device", "handle"),
    [(0, "GPU-aa11-22"), (1, "GPU-bb33-44"), (2, None), ("bb33-44", "GPU-bb33-44"),
     ("GPU-bb", "GPU-bb33-44"), ("GPU-", None), ("cc55-66", "MIG-cc55-66")],
)  # fmt: skip
def test_a_gpu_that_is_denied_hides_no_other_and_is_not_counted(device, handle):
    assert module._handle(Refusing(), device, {}) == handle


def test_all_that_is_on_the_gpu_before_a_trial_is_others(monkeypatch):
    monkeypatch.setattr(module, "_nvml", Nvml)
    with GpuWatch() as watch:
        assert watch.others("aa11-22") == {"gpu_other_processes": 0, "gpu_other_bytes": 7}
        assert watch.others("bb33-44") == {"gpu_other_processes": 2, "gpu_other_bytes": 7}
        assert watch.others("dd") == {}


def test_only_readings_within_the_timed_window_count():
    found = means(samples("power_w", [900.0, 100.0, 200.0, 300.0, 900.0]), t0=1.0, t1=3.0)
    assert found == {"gpu_power_w": 200.0}


def test_without_a_window_all_readings_count():
    assert means(samples("utilization_share", [0.0, 0.5, 1.0])) == {"gpu_utilization_share": 0.5}


def test_a_window_without_a_reading_gives_nothing():
    assert means(samples("energy_j", [1.0, 2.0]), t0=0.2, t1=0.8) == {}


def test_energy_is_what_was_used_between_the_windows_ends():
    counter = samples("energy_j", [1000.0, 1100.0, 1300.0, 1400.0])
    assert means(counter, t0=0.5, t1=2.5)["gpu_energy_j"] == pytest.approx(1350 - 1050)
    assert means(counter)["gpu_energy_j"] == pytest.approx(400)


def test_throttle_shares_name_the_reasons_that_were_seen():
    idle, power_cap, thermal = 0x1, 0x4, 0x20
    found = means(samples("throttle_mask", [idle, power_cap, power_cap | thermal, 0]))
    assert found == {
        "gpu_throttle_share": 0.5,
        "gpu_throttle_gpu_idle_share": 0.25,
        "gpu_throttle_sw_power_cap_share": 0.5,
        "gpu_throttle_sw_thermal_slowdown_share": 0.25,
    }


def test_the_names_of_the_throttle_bits_are_nvmls_own():
    assert throttle_reasons(pynvml.nvmlClocksThrottleReasonHwSlowdown) == ("hw_slowdown",)
    assert throttle_reasons(pynvml.nvmlClocksThrottleReasonSwPowerCap) == ("sw_power_cap",)
    assert throttle_reasons(pynvml.nvmlClocksThrottleReasonHwThermalSlowdown) == (
        "hw_thermal_slowdown",
    )
    assert len(throttle_reasons(pynvml.nvmlClocksThrottleReasonAll)) == 11


def test_an_unknown_throttle_bit_is_told_by_its_number():
    assert throttle_reasons(1 << 20 | 0x8) == ("hw_slowdown", "bit_20")
    assert throttle_reasons(0) == ()


def test_a_refused_counter_is_never_asked_again_and_a_busy_one_is():
    asked = []

    def refuse(code: int) -> float:
        asked.append(code)
        raise pynvml.NVMLError(code)

    counters = {
        "power_w": lambda: refuse(pynvml.NVML_ERROR_NOT_SUPPORTED),
        "energy_j": lambda: refuse(pynvml.NVML_ERROR_NO_PERMISSION),
        "sm_clock_mhz": lambda: refuse(pynvml.NVML_ERROR_TIMEOUT),
        "memory_bytes": lambda: 5,
    }
    assert [read(counters, pynvml.NVMLError).values for _ in range(3)] == [{"memory_bytes": 5}] * 3
    assert asked.count(pynvml.NVML_ERROR_NOT_SUPPORTED) == 1
    assert asked.count(pynvml.NVML_ERROR_NO_PERMISSION) == 1
    assert asked.count(pynvml.NVML_ERROR_TIMEOUT) == 3


@pytest.mark.parametrize(
    ("device", "visible", "expected"),
    [
        (1, None, 1),
        (0, "3,1", 3),
        (1, " 3 , 1 ", 1),
        (0, "GPU-8932f937,GPU-77", "GPU-8932f937"),
        (0, "MIG-12ab", "MIG-12ab"),
        (2, "0,1", None),
        (0, "", None),
        (0, "-1", None),
        (1, "0,-1,2", None),
        (2, "0,none,2", None),
        ("GPU-55", "0", "GPU-55"),
    ],
)
def test_cudas_index_is_read_through_cuda_visible_devices(device, visible, expected):
    assert visible_device(device, visible) == expected
