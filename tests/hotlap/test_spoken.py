import math

import pytest

from hotlap.spoken import count, percent, typed


@pytest.mark.parametrize(
    ("share", "coarse", "fine"),
    [
        (0.0, "0 %", "0.0 %"),
        (0.0004, "<1 %", "<0.1 %"),
        (0.021, "2 %", "2.1 %"),
        (0.61, "61 %", "61 %"),
        (math.nan, "-", "-"),
        (None, "-", "-"),
    ],
)
def test_a_trace_is_told_from_nothing_and_a_small_share_may_be_fine(share, coarse, fine):
    assert percent(share) == coarse
    assert percent(share, fine=True) == fine


def test_one_of_them_is_no_plural():
    assert (count(1, "step"), count(3, "step")) == ("1 step", "3 steps")


@pytest.mark.parametrize(
    ("value", "words"),
    [(90, "90"), (120.0, "120"), (1209600.0, "1209600"), (1e15, "1000000000000000")]
    + [(1234.567, "1234.567"), (0.5, "0.5"), (1e-7, "0.0000001"), (0.0, "0"), (100.0, "100")],
)
def test_a_number_to_be_typed_has_no_exponent_and_nothing_is_rounded_away(value, words):
    assert typed(value) == words
    assert float(words) == value
