import pytest

from search_spaces.nvml import nvidia_facts, visible

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
