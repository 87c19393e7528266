"""What is said where settings were frozen on another machine."""

import pytest

from hotlap.elsewhere import elsewhere


def test_another_machine_is_told_in_sentences():
    then = {
        "facts": {"device_name": "H200", "cores": 16, "torch": "2.10", "sample_cpu_s": 1},
        "versions": {"torch": "2.12", "hotlap": "0.1.0"},
    }
    same = {"device_name": "H200", "cores": 16, "torch": "2.12", "sample_cpu_s": 2}
    assert elsewhere(then, same, None) == []
    found = elsewhere(then, {"workload": {**same, "torch": "2.14", "cores": 2}}, "none")
    assert len(found) == 2
    assert found[0].startswith("the number of usable cores was 16 when the settings were frozen")
    assert found[1].startswith("torch was 2.12 when the settings were frozen and is 2.14 here")
    assert elsewhere({}, same, None) == []


@pytest.mark.parametrize(
    ("amp", "then", "here", "told"),
    [
        ("bf16", {"bf16": True}, False, True),
        ("bf16", {}, False, True),  # a file written by hand
        ("bf16", {"bf16": False}, False, False),  # it was proven so
        ("bf16", {"bf16": True}, True, False),
        ("none", {"bf16": True}, False, False),
        (None, {"bf16": True}, False, False),
    ],
)
def test_bf16_without_instructions_for_it_is_told(amp, then, here, told):
    found = elsewhere({"facts": then}, {"bf16": here, "device_name": "Old CPU"}, amp)
    assert bool(found) == told
    assert not told or "ask for amp=bf16, and Old CPU has no instructions for it" in found[0]
