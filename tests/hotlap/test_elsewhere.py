"""Frozen settings on another machine, or for another workload, than they were proven on."""

import pytest

from hotlap.elsewhere import crowding, differences, made_for, typed, written
from hotlap.settings import Settings

HERE = {
    "device_name": "chip",
    "cpu": "chip",
    "cores": 2,
    "physical_cores": 2,
    "torch": "2.14",
    "model_digest": "abc",
    "batch_size": 8,
    "batch_shapes": ["float32 (8, 6)"],
    "dataset_kind": "rows",
    "optimizer": "SGD",
}


def test_another_machine_is_told_in_sentences():
    then = {
        "facts": {"device_name": "H200", "cores": 16, "torch": "2.10", "sample_cpu_s": 1},
        "versions": {"torch": "2.12", "hotlap": "0.1.0"},
    }
    same = {"device_name": "H200", "cores": 16, "torch": "2.12", "sample_cpu_s": 2}
    assert differences(then, same, None) == []
    found = differences(then, {"workload": {**same, "torch": "2.14", "cores": 2}}, "none")
    assert len(found) == 2
    assert found[0].startswith("the number of usable cores was 16 when the settings were frozen")
    assert found[1].startswith("torch was 2.12 when the settings were frozen and is 2.14 here")
    assert differences({}, same, None) == []


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
    found = differences({"facts": then}, {"bf16": here, "device_name": "Old CPU"}, amp)
    assert bool(found) == told
    assert not told or "ask for amp=bf16, and Old CPU has no instructions for it" in found[0]


@pytest.mark.parametrize(
    ("then", "other"),
    [
        ({}, ""),
        ({"torch": "2.12"}, ""),
        ({"cores": 96}, "another machine"),
        ({"device_name": "H200"}, "another machine"),
        ({"batch_size": 64}, "another workload"),
        ({"batch_shapes": ["float32 (8, 7)"]}, "another workload"),
        ({"batch_shapes": ["float32 2 dimensions"]}, ""),
        ({"batch_shapes": 7}, "another workload"),
        ({"cores": 96, "model_digest": "def"}, "another machine and another workload"),
    ],
)
def test_what_else_a_promise_was_made_for(then, other):
    assert made_for({"facts": {**HERE, **then}}, HERE) == other
    assert made_for({"facts": then}, {}) == ""
    assert made_for({}, HERE) == ""


@pytest.mark.parametrize(
    ("settings", "then", "told"),
    [
        (Settings(num_workers=48), 96, "48 loader workers on 2 cores: they were chosen for 96;"),
        (Settings(num_workers=3), None, "nothing says for how many they were chosen"),
        (Settings(num_workers=16), 2, "16 loader workers on 2 cores: no study has proven that so"),
        (Settings(num_workers=2, intraop_threads=2), 96, ""),
    ],
)
def test_more_than_the_cores_can_run_is_told(settings, then, told):
    facts = {} if then is None else {"cores": then}
    said = crowding(settings, {"facts": facts}, 2, typed("fr.yaml"))
    assert told in said and bool(told) == bool(said)
    if said:
        assert "type settings=fr.yaml settings.num_workers=2, or tune" in said


def test_what_a_study_on_as_many_cores_has_proven_is_as_it_should_be():
    proven = {"facts": {"cores": 2}, "tuned": ["num_workers"]}
    settings = Settings(num_workers=16, intraop_threads=32)
    assert crowding(Settings(num_workers=16), proven, 2, typed()) == ""
    assert crowding(settings, proven, 2, typed()).startswith("32 threads on 2 cores: no study has")
    said = crowding(settings, proven, 1, typed())
    assert said.startswith("16 loader workers and 32 threads on 1 core: they were chosen for 2;")
    assert "type settings.num_workers=1 settings.intraop_threads=1, or tune" in said
    said = crowding(settings, {"tuned": 3}, 2, written("many.yaml"))
    assert "write num_workers: 2 and intraop_threads: 2 into many.yaml, or tune" in said


def test_threads_count_as_workers_do():
    said = crowding(
        Settings(num_workers=4, intraop_threads=48), {"facts": {"cores": 48}}, 1, typed("f")
    )
    assert said.startswith("4 loader workers and 48 threads on 1 core: they were chosen for 48;")
    assert "type settings=f settings.num_workers=1 settings.intraop_threads=1, or" in said
