import math

import pytest

from hotlap.spoken import count, percent


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
