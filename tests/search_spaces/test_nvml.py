import sys
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from runners.table_values import FACTS, wrong
from search_spaces.nvml import nvidia_facts, unanswered, visible

UUIDS = ["GPU-aa11", "GPU-ab22", "GPU-cc33"]


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("-1", []),
        ("2,0", [2, 0]),
        (" 1 , 2 ", [1, 2]),
        ("GPU-cc33,0", [2, 0]),
        ("GPU-c", [2]),
        ("GPU-a", []),  # two GPUs begin so
        ("0,7,1", [0]),  # CUDA stops at the first word that names no device
        ("MIG-1234,MIG-5678", ["MIG-1234", "MIG-5678"]),
    ],
)
def test_visible_devices_are_those_of_cuda(variable: str | None, expected: list[int | str]) -> None:
    assert visible(UUIDS, variable) == expected


def test_facts_have_the_same_keys_with_and_without_a_gpu() -> None:
    facts = nvidia_facts()
    assert isinstance(facts["gpus"], list)
    assert "nvidia_driver" in facts


@pytest.mark.gpu
def test_nvml_and_torch_see_the_same_gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    gpu = nvidia_facts()["gpus"][0]
    here = torch.cuda.get_device_properties(0)
    assert gpu["name"] == here.name
    assert gpu["capability"] == f"{here.major}.{here.minor}"
    assert gpu["memory_bytes"] == pytest.approx(here.total_memory, rel=0.05)


class Nvml:
    """Four GPUs, of which this process may use the second and the last."""

    NVMLError = pynvml.NVMLError
    NVMLError_LibraryNotFound = pynvml.NVMLError_LibraryNotFound
    NVMLError_DriverNotLoaded = pynvml.NVMLError_DriverNotLoaded
    allowed = (1, 3)

    def nvmlInit(self) -> None:
        pass

    def nvmlShutdown(self) -> None:
        pass

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.1"

    def nvmlDeviceGetCount(self) -> int:
        return 4

    def nvmlDeviceGetHandleByIndex(self, i: int) -> str:
        if i not in self.allowed:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NO_PERMISSION)
        return f"GPU-{i}"

    def nvmlDeviceGetUUID(self, handle: str) -> str:
        return handle

    def nvmlDeviceGetName(self, handle: str) -> str:
        return "GB10"

    def nvmlDeviceGetCudaComputeCapability(self, handle: str) -> tuple[int, int]:
        return 12, 1

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        if handle == "GPU-1":  # it has no memory of its own
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return SimpleNamespace(total=7)


def facts_of(nvml: Nvml, monkeypatch: pytest.MonkeyPatch, visible: str | None = None) -> Any:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    return nvidia_facts()


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [(None, ["GPU-1", "GPU-3"]), ("1", ["GPU-3"]), ("GPU-3,GPU-1", ["GPU-3", "GPU-1"])],
)
def test_a_gpu_that_does_not_answer_silences_no_other(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, uuids: list[str]
) -> None:
    facts = facts_of(Nvml(), monkeypatch, visible)
    assert [gpu["uuid"] for gpu in facts["gpus"]] == uuids
    memory = {"GPU-1": None, "GPU-3": 7}
    assert [gpu["memory_bytes"] for gpu in facts["gpus"]] == [memory[uuid] for uuid in uuids]
    assert facts["nvidia_driver"] == "580.1" and "nvml_error" not in facts
    assert unanswered({**facts, "device": "cuda:0"}) == []
    # A table that is recorded here can be replayed.
    assert list(wrong({"gpus": facts["gpus"]}, FACTS)) == []


def test_a_driver_that_tells_of_no_gpu_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = Nvml()
    nvml.allowed = ()
    facts = facts_of(nvml, monkeypatch)
    assert (facts["gpus"], facts["nvidia_driver"]) == ([], "580.1")
    (sentence,) = unanswered({**facts, "device": "cuda:0"})
    assert "tells of no GPU here: Insufficient Permissions; so nothing is known of" in sentence
    assert unanswered({**facts, "device": "cpu"}) == []
