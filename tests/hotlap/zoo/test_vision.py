import pytest
import torch

from hotlap.errors import UserInputError
from hotlap.zoo.vision import resnet18, resnet50, train_transform, vit_b_16

MANY = {"n_images": 6, "n_classes": 2, "n_epoch_images": 600}


@pytest.fixture(scope="module")
def data():
    return {"dataset": "hotlap.zoo.images.generated_jpegs", **MANY}


@pytest.mark.parametrize("function", [resnet50, resnet18, vit_b_16])
def test_batch_and_image_are_larger_on_a_gpu_unless_given(function, data):
    small = function(data, device="cpu")
    large = function(data, device="cuda:1")
    given = function(data, batch_size=3, image_size=64, device="cuda")
    assert small.batch_size < large.batch_size
    assert small.dataset[0][0].shape[1] < large.dataset[0][0].shape[1] == 224
    assert given.batch_size == 3
    assert given.dataset[0][0].shape == (3, 64, 64)
    assert large.device == "cuda:1"


def test_images_arrive_normalized(data):
    image, label = resnet18(data, device="cpu").dataset[0]
    assert image.dtype == torch.float32
    assert -2.2 < image.min() < 0 < image.max() < 2.7
    assert label == 0


def test_crops_are_random():
    from PIL import Image

    picture = Image.linear_gradient("L").convert("RGB")
    torch.manual_seed(0)
    transform = train_transform(32)
    assert not torch.equal(transform(picture), transform(picture))


def test_model_has_the_classes_of_the_data(data):
    assert resnet18(data, device="cpu").model.fc.out_features == 2
    assert resnet18(data, n_classes=10, device="cpu").model.fc.out_features == 10


def test_vit_refuses_an_image_that_its_pieces_do_not_fill(data):
    with pytest.raises(UserInputError, match="multiple of 16; type model.image_size=96"):
        vit_b_16(data, image_size=100)


def test_learning_rate_follows_the_batch(data):
    workload = resnet18(data, batch_size=64, image_size=32, device="cpu")
    optimizer = workload.optimizer(workload.model.parameters())
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.025)
    assert optimizer.param_groups[0]["momentum"] == 0.9
