"""Images: any ImageFolder tree, or generated JPEGs that cost what photos cost to decode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from hotlap.errors import UserInputError
from hotlap.zoo import jpegs

Transform = Callable[[Any], torch.Tensor]
"""From a PIL image to the tensor that a model takes."""

CUDA_EPOCH = 65536
"""Samples in an epoch of generated data on a GPU. An epoch of the 1024 files alone would be a few
steps there, and the start of an epoch, which hardly matters in real training, most of the time."""


def image_folder(root: str | None = None, *, transform: Transform | None = None) -> Dataset[Any]:
    """The images of a folder with one sub-folder for each class, as torchvision's ImageFolder.

    Raises:
        UserInputError: `root` is not given, not there, or holds no images in class folders.
    """
    from torchvision.datasets import ImageFolder

    advice = "it must hold one folder of images for each class; type data.root=/path/to/images"
    if not root:
        raise UserInputError(f"data.root is not set; {advice}")
    folder = Path(root).expanduser()
    if not folder.is_dir():
        raise UserInputError(f"data.root is {root}, and there is no such folder; {advice}")
    try:
        found: Dataset[Any] = ImageFolder(str(folder), transform)
    except FileNotFoundError as error:
        # torchvision's own words say which class folder is empty or that there is none.
        raise UserInputError(f"data.root is {root}, and {_lower(str(error))}; {advice}") from error
    return found


def generated_jpegs(
    n_images: int = 1024,
    n_classes: int = 16,
    n_epoch_images: int | None = None,
    seed: int = 0,
    *,
    transform: Transform | None = None,
    device: str = "cpu",
    progress: jpegs.Progress | None = None,
) -> Dataset[Any]:
    """Photo-like JPEGs with class labels, about 500 x 375 pixels and 110 KB each.

    They are generated once into the cache folder (see hotlap.zoo.jpegs).

    Args:
        n_images: Files on the disk.
        n_classes: Classes, each with a main colour of its own.
        n_epoch_images: Samples in an epoch; the files are gone through as often as that takes.
            None is each file once on a CPU, and 65536 on a GPU.
        seed: Of the pictures' contents.
        transform: From a PIL image to a tensor.
        device: Where the model trains.
        progress: Takes the place of the progress line on stderr.
    """
    tree = jpegs.generate(n_images, n_classes, seed, progress)
    length = n_epoch_images or (CUDA_EPOCH if device.startswith("cuda") else n_images)
    return Repeated(image_folder(str(tree), transform=transform), length)


def generated_boxes(
    n_images: int = 1024,
    n_classes: int = 16,
    n_epoch_images: int | None = None,
    seed: int = 0,
    *,
    device: str = "cpu",
    progress: jpegs.Progress | None = None,
) -> Dataset[Any]:
    """The same files as `generated_jpegs`, each with the boxes of the objects painted in it."""
    tree = jpegs.generate(n_images, n_classes, seed, progress)
    length = n_epoch_images or (CUDA_EPOCH if device.startswith("cuda") else n_images)
    return Repeated(BoxedImages(tree, n_images, n_classes, seed), length)


class Repeated(Dataset[Any]):
    """A dataset gone through again and again until an epoch has `length` samples."""

    def __init__(self, dataset: Any, length: int) -> None:
        self.dataset = dataset
        self.length = length
        self.classes = dataset.classes

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index % len(self.dataset)]


class BoxedImages(Dataset[Any]):
    """Images of several sizes with boxes.

    A sample is `(image, target)`: a float tensor of shape (3, height, width) in 0..1, flipped at
    random, and `{"boxes": (n, 4) float pixels left top right bottom, "labels": (n,) int64 from 1}`.
    """

    classes = ("background", *jpegs.KINDS)

    def __init__(self, tree: Path, n_images: int, n_classes: int, seed: int) -> None:
        self.tree = tree
        self.n_images = n_images
        self.n_classes = n_classes
        self.seed = seed

    def __len__(self) -> int:
        return self.n_images

    def __getitem__(self, index: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        from PIL import Image
        from torchvision.transforms.functional import pil_to_tensor

        what = jpegs.scene(index, self.n_classes, self.seed)
        with Image.open(jpegs.file_of(self.tree, index, self.n_classes)) as file:
            image = pil_to_tensor(file.convert("RGB")).float() / 255
        boxes = torch.tensor(what.boxes, dtype=torch.float32, device="cpu")
        if torch.rand((), device="cpu") < 0.5:
            image = image.flip(2)
            boxes = torch.stack(
                (what.width - boxes[:, 2], boxes[:, 1], what.width - boxes[:, 0], boxes[:, 3]), 1
            )
        return image, {"boxes": boxes, "labels": torch.tensor(what.kinds, device="cpu") + 1}


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")
