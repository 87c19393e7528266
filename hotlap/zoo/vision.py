"""Image classifiers of torchvision, from random weights, trained as ImageNet's reference does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import AdamW, Optimizer
from torch.utils.data import Dataset

from hotlap.errors import UserInputError
from hotlap.workload import Workload
from hotlap.zoo.data import build, check_size, n_classes_of
from hotlap.zoo.defaults import image_sizes, sgd

DATA = "hotlap.zoo.images.generated_jpegs"

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""ImageNet's colours, as in torchvision's training reference."""

PATCH = 16
"""Side in pixels of the pieces into which vit_b_16 cuts an image."""


def resnet50(
    data: dict[str, Any] | None = None,
    batch_size: int | None = None,
    image_size: int | None = None,
    n_classes: int | None = None,
    lr: float | None = None,
    weight_decay: float = 1e-4,
    device: str | None = None,
) -> Workload:
    """ResNet-50 on images of shape (batch, 3, image_size, image_size).

    Args:
        data: A data config; None takes generated JPEGs.
        batch_size: None is 8 on a CPU and 128 on a GPU.
        image_size: In pixels. None is 128 on a CPU and 224 on a GPU.
        n_classes: None takes the data's.
        lr: None is 0.1 for 256 samples, in proportion (Goyal et al. 2017).
        weight_decay: Of SGD.
        device: None is "cuda" where there is one, else "cpu".

    Raises:
        UserInputError: An argument cannot be used; the message says which and what would be right.
    """
    sizes = image_sizes(device, batch_size, image_size, cpu=(8, 128), cuda=(128, 224))
    return _resnet("resnet50", data, *sizes, n_classes, lr, weight_decay)


def resnet18(
    data: dict[str, Any] | None = None,
    batch_size: int | None = None,
    image_size: int | None = None,
    n_classes: int | None = None,
    lr: float | None = None,
    weight_decay: float = 1e-4,
    device: str | None = None,
) -> Workload:
    """ResNet-18, whose data loading weighs more; arguments as `resnet50`.

    `batch_size` is 16 on a CPU and 256 on a GPU if it is None, `image_size` 128 and 224.
    """
    sizes = image_sizes(device, batch_size, image_size, cpu=(16, 128), cuda=(256, 224))
    return _resnet("resnet18", data, *sizes, n_classes, lr, weight_decay)


def vit_b_16(
    data: dict[str, Any] | None = None,
    batch_size: int | None = None,
    image_size: int | None = None,
    n_classes: int | None = None,
    lr: float = 1e-4,
    weight_decay: float = 0.3,
    device: str | None = None,
) -> Workload:
    """A vision transformer, ViT-B/16; arguments as `resnet50`, trained by AdamW.

    `batch_size` is 4 on a CPU and 128 on a GPU if it is None, `image_size` 96 and 224.

    Raises:
        UserInputError: An argument cannot be used; the message says which and what would be right.
    """
    from torchvision.models import vit_b_16 as build_model

    device, batch_size, image_size = image_sizes(
        device, batch_size, image_size, cpu=(4, 96), cuda=(128, 224)
    )
    if image_size % PATCH:
        right = max(PATCH, image_size // PATCH * PATCH)
        raise UserInputError(
            f"model.image_size is {image_size}; vit_b_16 cuts images into pieces of {PATCH} pixels "
            f"and takes a multiple of {PATCH}; type model.image_size={right}"
        )
    dataset = _images(data, batch_size, image_size, device)
    n_classes = n_classes_of(dataset, n_classes)
    model = build_model(weights=None, image_size=image_size, num_classes=n_classes)
    optimizer = partial(AdamW, lr=lr, weight_decay=weight_decay)
    return _workload("vit_b_16", model, dataset, optimizer, batch_size, device)


def image_loss(model: nn.Module, batch: Any) -> torch.Tensor:
    """Mean cross entropy; `batch` is images and their labels, shape (batch,)."""
    images, labels = batch
    return F.cross_entropy(model(images), labels)


def train_transform(image_size: int) -> Callable[[Any], torch.Tensor]:
    """From a PIL image to a normalized tensor: the random crop and flip of ImageNet's reference."""
    from torchvision.transforms import (
        Compose,
        Normalize,
        RandomHorizontalFlip,
        RandomResizedCrop,
        ToTensor,
    )

    steps = [
        RandomResizedCrop(image_size),
        RandomHorizontalFlip(),
        ToTensor(),
        Normalize(MEAN, STD),
    ]
    transform: Callable[[Any], torch.Tensor] = Compose(steps)
    return transform


def _resnet(
    name: str,
    data: dict[str, Any] | None,
    device: str,
    batch_size: int,
    image_size: int,
    n_classes: int | None,
    lr: float | None,
    weight_decay: float,
) -> Workload:
    from torchvision import models

    dataset = _images(data, batch_size, image_size, device)
    model = getattr(models, name)(
        weights=None,
        num_classes=n_classes_of(dataset, n_classes),
        zero_init_residual=True,  # else small batches start with a jump (Goyal et al. 2017)
    )
    optimizer = sgd(lr, weight_decay, batch_size, lr_for=(0.1, 256))
    return _workload(name, model, dataset, optimizer, batch_size, device)


def _images(
    data: dict[str, Any] | None, batch_size: int, image_size: int, device: str
) -> Dataset[Any]:
    dataset = build(data, DATA, transform=train_transform(image_size), device=device)
    check_size(dataset, batch_size)
    return dataset


def _workload(
    name: str,
    model: nn.Module,
    dataset: Dataset[Any],
    optimizer: Callable[..., Optimizer],
    batch_size: int,
    device: str,
) -> Workload:
    return Workload(
        model=model,
        dataset=dataset,
        loss=image_loss,
        optimizer=optimizer,
        batch_size=batch_size,
        device=device,
        name=name,
    )
