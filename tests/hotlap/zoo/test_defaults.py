import pytest

from hotlap.errors import UserInputError
from hotlap.zoo.defaults import size


def test_what_the_user_gave_is_taken():
    assert size("batch_size", 5, "cuda", cpu=8, cuda=128) == 5


def test_the_default_is_the_devices():
    assert size("batch_size", None, "cpu", cpu=8, cuda=128) == 8
    assert size("batch_size", None, "cuda:1", cpu=8, cuda=128) == 128


@pytest.mark.parametrize("value", [0, -1, 2.5, "8", True])
def test_no_other_value_is_a_size(value):
    with pytest.raises(UserInputError, match=r"from 1, or null .* type model.batch_size=8"):
        size("batch_size", value, "cpu", cpu=8, cuda=128)
