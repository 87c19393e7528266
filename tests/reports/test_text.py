import math

import pytest

from reports import text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(17655.4, "17,655"), (812.44, "812.4"), (12.345, "12.35"), (0.01234, "0.01234"), (0, "0"),
     (None, "-"), (math.nan, "-"), (math.inf, "-")],
)  # fmt: skip
def test_a_number_keeps_about_four_digits(value, expected):
    assert text.number(value) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(192, "3:12"), (3725, "1:02:05"), (-4, "0:00")])
def test_a_time_span_reads_like_a_clock(seconds, expected):
    assert text.clock(seconds) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.83, "0.830 s"), (40.39, "40.4 s"), (60, "1:00"), (3725, "1:02:05"), (math.inf, "-")],
)
def test_a_time_span_below_a_minute_keeps_its_digits(seconds, expected):
    assert text.duration(seconds) == expected


@pytest.mark.parametrize(
    ("n_bytes", "expected"), [(512, "512 B"), (1536, "1.50 KiB"), (1.9 * 1024**3, "1.90 GiB")]
)
def test_sizes_are_1024_based(n_bytes, expected):
    assert text.size(n_bytes) == expected


def test_settings_read_as_yaml_writes_them():
    assert text.assignments({"pin_memory": True, "intraop_threads": None}) == (
        "pin_memory=true intraop_threads=default"
    )
    assert text.assignments({}) == "nothing changed"
