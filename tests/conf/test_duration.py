import pytest

from conf.duration import seconds
from hotlap.errors import UserInputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90s", 90), ("10m", 600), ("1h", 3600), ("1h30m", 5400), ("1.5h", 5400), ("1m5s", 65)],
)
def test_durations_are_read(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "600", "10 m", "m", "30m1h", "0s", "-5m", "ten"])
def test_what_is_no_duration_is_refused_with_examples(text):
    with pytest.raises(UserInputError, match="90s, 10m, 1h or 1h30m"):
        seconds(text)


@pytest.mark.parametrize("text", ["9" * 400 + "s", "999999h"])
def test_no_duration_is_longer_than_a_life(text):
    with pytest.raises(UserInputError, match="longer than any study"):
        seconds(text)
