import pytest
from PIL import Image

from hotlap.errors import UserInputError
from hotlap.zoo.images import generated_jpegs, image_folder


def test_any_image_folder_can_be_read(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        Image.new("RGB", (8, 6)).save(tmp_path / name / "a.png")
    dataset = image_folder(str(tmp_path), transform=lambda image: image.size)
    assert dataset.classes == ["cat", "dog"]
    assert [dataset[i] for i in range(len(dataset))] == [((8, 6), 0), ((8, 6), 1)]


@pytest.mark.parametrize(
    ("make", "root", "says"),
    [
        ((), None, "data.root is not set"),
        ((), "absent", "absent, and there is no such folder"),
        (("there",), "there", "there, and couldn't find any class folder"),
        (("there/cat",), "there", "there, and found no valid file for the classes cat"),
    ],
)
def test_a_wrong_root_says_what_is_right_and_what_to_type(tmp_path, monkeypatch, make, root, says):
    monkeypatch.chdir(tmp_path)
    for folder in make:
        (tmp_path / folder).mkdir(parents=True)
    with pytest.raises(UserInputError) as caught:
        image_folder(root)
    assert says in str(caught.value)
    assert "one folder of images for each class; type data.root=/path/to" in str(caught.value)


def test_an_epoch_is_longer_on_a_gpu():
    assert len(generated_jpegs(6, 2)) == 6
    on_gpu = generated_jpegs(6, 2, device="cuda")
    assert len(on_gpu) == 65536
    assert on_gpu[65535][1] == on_gpu[65535 % 6][1]
    assert len(generated_jpegs(6, 2, n_epoch_images=10, device="cuda")) == 10


def test_every_class_and_file_is_in_an_epoch():
    dataset = generated_jpegs(6, 2, n_epoch_images=12)
    assert [dataset[i][1] for i in range(12)] == [0, 0, 0, 1, 1, 1] * 2
