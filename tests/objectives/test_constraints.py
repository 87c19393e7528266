import pytest

from hotlap.measurement import Measurement
from objectives import Constraints, device_bytes, reasons, violations

LIMITS = {"device_memory": 0.9}
GIB = 1 << 30
FACTS = {
    "device": "cuda:1",
    "gpus": [{"memory_bytes": 10 * GIB}, {"memory_bytes": 100 * GIB}],
}


def used(gib: int | None) -> Measurement:
    return Measurement((), peak_device_bytes=None if gib is None else gib * GIB)


def test_memory_within_the_limit_is_fine_and_above_it_is_not() -> None:
    assert violations(used(80), LIMITS, FACTS) == (pytest.approx(-0.1),)
    assert violations(used(96), LIMITS, FACTS) == (pytest.approx(0.06),)
    assert reasons(used(80), LIMITS, FACTS) == []


def test_the_reason_names_what_was_used_and_what_is_allowed() -> None:
    assert reasons(used(96), LIMITS, FACTS) == [
        "it reserved 98304 MiB of the device's 102400 MiB, which is 96%, "
        "and constraints.device_memory=0.9 allows 90%"
    ]


def test_the_memory_that_cuda_gives_the_worker_counts_and_not_the_driver_s_list() -> None:
    slice_of = {**FACTS, "device_memory_bytes": 20 * GIB}
    assert device_bytes(slice_of) == 20 * GIB
    assert violations(used(19), LIMITS, slice_of) == (pytest.approx(0.05),)
    assert device_bytes({**FACTS, "device_memory_bytes": None}) == 100 * GIB


@pytest.mark.parametrize("facts", [{}, {"device": "cpu", "gpus": []}, {"device": "cuda:0"}])
def test_what_cannot_be_known_is_no_violation(facts: dict[str, object]) -> None:
    assert violations(used(96), LIMITS, facts) == (-1.0,)


def test_a_measurement_without_a_device_is_no_violation() -> None:
    assert violations(used(None), LIMITS, FACTS) == (-1.0,)


def test_a_limit_that_the_baseline_breaks_is_what_the_baseline_uses() -> None:
    notes: list[str] = []
    kept = Constraints(LIMITS, FACTS, notes.append)
    assert kept.reasons(used(95)) != []
    for _ in range(2):  # another session's too: it counts once
        kept.allow([0.05])
    assert len(notes) == 1 and "a winner may use about what the baseline does" in notes[0]
    assert kept.violations(used(95))[0] < 0 < kept.violations(used(97))[0]
    assert kept.reasons(used(95)) == []
    (reason,) = kept.reasons(used(97))
    assert reason.endswith("which is 97%, and the baseline's own peak allows 96%")


def test_a_baseline_within_the_limits_changes_none() -> None:
    kept = Constraints(LIMITS, FACTS)
    kept.allow(kept.violations(used(50)))
    assert kept.violations(used(80)) == violations(used(80), LIMITS, FACTS)
