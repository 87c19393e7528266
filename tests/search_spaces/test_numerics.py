from hotlap.settings import Settings
from search_spaces import Knob, numerics_class

KNOBS = [
    Knob.from_mapping("num_workers", {"choices": [0, 2]}),
    Knob.from_mapping("prefetch_factor", {"choices": [2, 4]}),
    Knob.from_mapping("in_order", {"choices": [True, False], "numerics": "rounding"}),
    Knob.from_mapping("memory_format", {"choices": ["contiguous"], "numerics": "rounding"}),
    Knob.from_mapping("amp", {"choices": ["none"], "numerics": "precision"}),
]


def class_of(**changes: object) -> str:
    return numerics_class(Settings.from_dict(changes), Settings(), KNOBS)


def test_the_class_is_the_largest_among_the_settings_that_differ() -> None:
    assert class_of() == "exact"
    assert class_of(num_workers=2, prefetch_factor=4) == "exact"
    assert class_of(num_workers=2, memory_format="channels_last") == "rounding"
    assert class_of(memory_format="channels_last", amp="bf16") == "precision"


def test_a_setting_of_which_nothing_is_known_may_change_anything() -> None:
    assert class_of(set_to_none=False) == "precision"


def test_batches_in_any_order_differ_from_no_workers_at_all() -> None:
    assert class_of(num_workers=2, in_order=False) == "rounding"
    assert class_of(num_workers=1, in_order=False) == "exact"
