"""GpuWatch: the GPU's own counters while a trial runs, read through NVML by a thread of the tuner.

NVML needs no CUDA context, so the tuner process stays free of one. Without NVML (no GPU, no
driver, another maker's GPU) there is nothing to read, which the doubt `gpu-unwatched` tells of
trials that ran on a GPU (studies/window_doubts.py).

Source of the counters and of the throttle bits: NVIDIA's NVML API reference, "Device Queries" and
"NvmlClocksEventReasons". NVML's power is in milliwatts and its energy in millijoules.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

THROTTLE_REASONS = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
    0x200: "board_limit",
    0x400: "reliability",
}
"""NVML's bits. They say why the clocks are not at their highest."""

NOT_SLOWED = ("gpu_idle", "applications_clocks_setting", "display_clock_setting")
"""Reasons that are somebody's choice or plain idleness: the GPU is not held back by a limit."""

REFUSED = ("NotSupported", "NoPermission", "FunctionNotFound", "Deprecated", "InvalidArgument")
"""NVML errors that will come again whenever the same counter is asked."""


@dataclass(frozen=True)
class Sample:
    """One reading: `t` in seconds of CLOCK_MONOTONIC, and the counters that answered."""

    t: float
    values: Mapping[str, float]


class GpuWatch:
    """Reads one GPU's counters from `follow` to `__exit__`.

    A device is CUDA's index as a process with this environment's CUDA_VISIBLE_DEVICES counts it,
    or the device's UUID, as the driver or as torch writes it.

    Args:
        period_s: Seconds between two readings.
    """

    def __init__(self, period_s: float = 0.1) -> None:
        self._period_s = period_s
        self._samples: list[Sample] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._nvml: Any = None

    def __enter__(self) -> GpuWatch:
        self._nvml = _nvml()
        return self

    def others(self, device: int | str) -> dict[str, float]:
        """What others hold on `device`; to be asked while nothing of ours is on it.

        In a container the driver may know the processes by other numbers, or list none of them: so
        all are others', and the memory in use tells of those that are not listed.

        Returns:
            `gpu_other_processes` and `gpu_other_bytes`, each unless the driver refuses it.
        """
        handle = self._find(device)
        if handle is None:
            return {}
        held = _held(self._nvml, handle)
        return {f"gpu_{name}": v for name, v in read(held, self._nvml.NVMLError).values.items()}

    def follow(self, device: int | str) -> None:
        """Begin to read the counters of `device`; if that has begun already, nothing happens."""
        if self._thread is not None or (handle := self._find(device)) is None:
            return
        counters = _counters(self._nvml, handle)
        self._thread = threading.Thread(
            target=self._read, args=(counters,), name="gpu-watch", daemon=True
        )
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._nvml is not None:
            self._nvml.nvmlShutdown()

    def means(self, t0: float | None = None, t1: float | None = None) -> dict[str, float]:
        """Means of the counters between `t0` and `t1`, seconds of CLOCK_MONOTONIC.

        Returns:
            Flat names with their units, see `means`. Empty if nothing could be read.
        """
        return means(tuple(self._samples), t0, t1)

    def _find(self, device: int | str) -> Any:
        return None if self._nvml is None else _handle(self._nvml, device, os.environ)

    def _read(self, counters: dict[str, Callable[[], float]]) -> None:
        while not self._stop.is_set() and counters:
            self._samples.append(read(counters, self._nvml.NVMLError))
            self._stop.wait(self._period_s)


def read(counters: dict[str, Callable[[], float]], error: type[Exception]) -> Sample:
    """Ask each of `counters` once; one that is refused leaves `counters` for good."""
    t = time.monotonic()
    values = {}
    for name in list(counters):
        try:
            values[name] = float(counters[name]())
        except error as fault:
            if type(fault).__name__.endswith(REFUSED):
                del counters[name]
    return Sample(t, values)


def means(
    samples: Sequence[Sample], t0: float | None = None, t1: float | None = None
) -> dict[str, float]:
    """Aggregate `samples` between `t0` and `t1` (each None: from the first, to the last).

    Returns:
        The mean of each counter under its own name; `gpu_energy_j`, what was used in that time;
        `gpu_throttle_share`, the share of readings in which a limit held the clocks down; and
        `gpu_throttle_<reason>_share` of each reason that was seen.
    """
    chosen = [s for s in samples if (t0 is None or s.t >= t0) and (t1 is None or s.t <= t1)]
    found: dict[str, float] = {}
    for name in dict.fromkeys(name for s in chosen for name in s.values):
        values = [s.values[name] for s in chosen if name in s.values]
        if name == "energy_j":
            continue
        if name == "throttle_mask":
            found |= _throttle_shares([int(v) for v in values])
        else:
            found[f"gpu_{name}"] = sum(values) / len(values)
    # The counter's value at the window's two ends lies between two readings: all of them count.
    energy = [(s.t, s.values["energy_j"]) for s in samples if "energy_j" in s.values]
    if chosen and len(energy) > 1:
        start = _at(energy, energy[0][0] if t0 is None else t0)
        end = _at(energy, energy[-1][0] if t1 is None else t1)
        found["gpu_energy_j"] = end - start
    return found


def throttle_reasons(mask: int) -> tuple[str, ...]:
    """Names of the bits set in NVML's `mask`; a bit nobody knew yet is `bit_<number>`."""
    return tuple(
        THROTTLE_REASONS.get(1 << bit, f"bit_{bit}")
        for bit in range(mask.bit_length())
        if mask >> bit & 1
    )


def visible_device(device: int | str, visible: str | None) -> int | str | None:
    """What NVML knows CUDA's `device` by: an index of all GPUs, or a UUID.

    `visible` is CUDA_VISIBLE_DEVICES, None if it is not set. As CUDA reads it: indices and UUIDs
    (or their beginnings) separated by commas, and the first entry that is neither ends the list.

    Returns:
        None if the environment shows no such device.
    """
    if isinstance(device, str) or visible is None:
        return device
    shown: list[int | str] = []
    for entry in (part.strip() for part in visible.split(",")):
        if entry.isdecimal():
            shown.append(int(entry))
        elif entry.startswith(("GPU-", "MIG-")):
            shown.append(entry)
        else:
            break
    return shown[device] if 0 <= device < len(shown) else None


def _throttle_shares(masks: Sequence[int]) -> dict[str, float]:
    seen = [throttle_reasons(mask) for mask in masks]
    slowed = [any(name not in NOT_SLOWED for name in names) for names in seen]
    shares = {"gpu_throttle_share": sum(slowed) / len(masks)}
    for name in sorted({name for names in seen for name in names}):
        shares[f"gpu_throttle_{name}_share"] = sum(name in names for names in seen) / len(masks)
    return shares


def _at(points: Sequence[tuple[float, float]], t: float) -> float:
    """Straight line between the readings `points` (t, value); their ends hold beyond them."""
    if t <= points[0][0]:
        return points[0][1]
    for (t_a, a), (t_b, b) in zip(points, points[1:], strict=False):
        if t <= t_b:
            return a + (b - a) * (t - t_a) / (t_b - t_a)
    return points[-1][1]


def _nvml() -> Any:
    """The started NVML module, or None where there is none."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def _handle(nvml: Any, device: int | str, environment: Mapping[str, str]) -> Any:
    """NVML's handle of CUDA's `device`, or None if it cannot be told which one that is."""
    wanted = visible_device(device, environment.get("CUDA_VISIBLE_DEVICES"))
    try:
        if isinstance(wanted, int):
            return _by_index(nvml, wanted, environment.get("CUDA_DEVICE_ORDER", "FASTEST_FIRST"))
        return _by_uuid(nvml, wanted) if wanted else None
    except nvml.NVMLError:  # it does not even count them, or name one
        return None


def _by_index(nvml: Any, index: int, order: str) -> Any:
    """NVML counts by PCI bus. CUDA does too if told so, or if all GPUs are equally fast."""
    handles = _all_handles(nvml)
    one_kind = len({nvml.nvmlDeviceGetName(handle) for handle in handles}) == 1
    if index < len(handles) and (one_kind or order == "PCI_BUS_ID"):
        return handles[index]
    return None


def _by_uuid(nvml: Any, beginning: str) -> Any:
    """The GPU or the slice of one (MIG) with this UUID, or the only GPU whose UUID starts so.

    torch writes UUIDs without the "GPU-" or "MIG-" that NVML puts before them.
    """
    bare = beginning.removeprefix("GPU-").removeprefix("MIG-")
    for whole in ("GPU-" + bare, "MIG-" + bare):
        if (handle := _answer(nvml, nvml.nvmlDeviceGetHandleByUUID, whole)) is not None:
            return handle
    uuids = [(_answer(nvml, nvml.nvmlDeviceGetUUID, h) or "", h) for h in _all_handles(nvml)]
    found = [handle for uuid, handle in uuids if uuid.startswith("GPU-" + bare)]
    return found[0] if len(found) == 1 else None


def _all_handles(nvml: Any) -> list[Any]:
    """Of the GPUs that this process may use; NVML counts others, and CUDA does not."""
    indices = range(nvml.nvmlDeviceGetCount())
    handles = (_answer(nvml, nvml.nvmlDeviceGetHandleByIndex, i) for i in indices)
    return [handle for handle in handles if handle is not None]


def _answer(nvml: Any, ask: Callable[[Any], Any], of: Any) -> Any:
    """What NVML answers, or None where it refuses."""
    try:
        return ask(of)
    except nvml.NVMLError:
        return None


def _held(nvml: Any, handle: Any) -> dict[str, Callable[[], float]]:
    """What is held on the GPU at this moment, by whomever.

    The second version of the memory's query leaves out what the driver keeps for itself, as
    nvidia-smi does; the third one of the processes' query is in every nvidia-ml-py since 12.
    """
    version = nvml.nvmlMemory_v2
    return {
        "other_processes": lambda: len(nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle)),
        "other_bytes": lambda: nvml.nvmlDeviceGetMemoryInfo(handle, version=version).used,
    }


def _counters(nvml: Any, handle: Any) -> dict[str, Callable[[], float]]:
    """Name with unit -> a function that asks NVML for the value in that unit."""
    return {
        "utilization_share": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
        "memory_bytes": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used,
        "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
        "energy_j": lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3,
        "sm_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "memory_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        "throttle_mask": lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
    }
