"""Which machines and workloads are the same, and which are similar."""

import pytest
from banked import ELSEWHERE, FACTS, LARGER

from studies.fingerprints import distance, machine_of, similar, workload_of


@pytest.mark.parametrize(
    ("name", "value"),
    [("cpu", "x"), ("cores", 3), ("torch", "3.0"), ("nvidia_driver", "1"), ("device_name", "H")],
)
def test_another_chip_number_of_cores_torch_or_driver_is_another_machine(name, value):
    other = {**FACTS, name: value}
    assert machine_of(other) != machine_of(FACTS) and workload_of(other) == workload_of(FACTS)


@pytest.mark.parametrize(
    ("name", "value"),
    [("model_digest", "x"), ("batch_size", 9), ("batch_shapes", ["x"]), ("dataset_kind", "x")],
)
def test_another_structure_shape_batch_or_data_set_is_another_workload(name, value):
    other = {**FACTS, name: value}
    assert workload_of(other) != workload_of(FACTS) and machine_of(other) == machine_of(FACTS)


def test_what_is_measured_or_free_at_the_moment_is_in_no_fingerprint():
    other = {**FACTS, "sample_cpu_s": 0.1, "shm_free_bytes": 5, "budget_s": 1.0}
    assert workload_of(other) == workload_of(FACTS) and machine_of(other) == machine_of(FACTS)


def test_facts_without_the_whole_workload_have_no_fingerprint():
    assert workload_of({"model_digest": "abc"}) == ""


def test_similar_workloads_can_profit_from_the_same_knobs():
    assert similar(FACTS, LARGER) and similar(FACTS, ELSEWHERE)
    for name, value in (("device", "cuda:0"), ("conv2d", True), ("iterable_dataset", True)):
        assert not similar(FACTS, {**FACTS, name: value})


def test_the_same_workload_is_nearest_and_size_decides_among_others():
    much_larger = {**LARGER, "n_parameters": 64_000}
    other_data = {**LARGER, "dataset_kind": "images"}
    order = [FACTS, ELSEWHERE, LARGER, other_data, much_larger]
    far = [distance(other, FACTS) for other in order]
    assert far == sorted(far) and len(set(far)) == len(far) and far[0] == 0
    assert distance({**LARGER, "n_parameters": "many"}, FACTS) > 0
