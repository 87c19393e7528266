import pytest
import torch

from hotlap.errors import UserInputError
from hotlap.zoo.defaults import image_sizes, sgd, size


def test_what_the_user_gave_is_taken():
    assert size("batch_size", 5, "cuda", cpu=8, cuda=128) == 5


def test_the_default_is_the_devices():
    assert size("batch_size", None, "cpu", cpu=8, cuda=128) == 8
    assert size("batch_size", None, "cuda:1", cpu=8, cuda=128) == 128


@pytest.mark.parametrize("value", [0, -1, 2.5, "8", True])
def test_no_other_value_is_a_size(value):
    with pytest.raises(UserInputError, match=r"from 1, or null .* type model.batch_size=8"):
        size("batch_size", value, "cpu", cpu=8, cuda=128)


def test_each_of_device_batch_and_image_size_is_the_users_or_the_devices():
    sizes = {"cpu": (8, 128), "cuda": (128, 224)}
    assert image_sizes("cpu", None, None, **sizes) == ("cpu", 8, 128)
    assert image_sizes("cuda:1", 5, None, **sizes) == ("cuda:1", 5, 224)
    assert image_sizes("cpu", None, 64, **sizes) == ("cpu", 8, 64)
    assert image_sizes(None, None, None, **sizes) in (("cpu", 8, 128), ("cuda", 128, 224))
    with pytest.raises(UserInputError, match="model.image_size is 0"):
        image_sizes("cpu", None, 0, **sizes)


def test_the_learning_rate_grows_with_the_batch_unless_it_is_given():
    weight = torch.nn.Parameter(torch.zeros(2))
    built = sgd(None, 1e-4, 64, lr_for=(0.1, 256))([weight], fused=True).param_groups[0]
    assert (built["lr"], built["momentum"], built["fused"]) == (0.025, 0.9, True)
    assert sgd(0.3, 1e-4, 64, lr_for=(0.1, 256))([weight]).param_groups[0]["lr"] == 0.3
