"""detector: torchvision's Faster R-CNN, scaled down, on images whose sizes vary.

No two steps have the same shapes: each image is scaled to a random size (multi-scale training, as
in torchvision's detection reference) and the batch is padded to the largest of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from hotlap.workload import Workload
from hotlap.zoo.data import build, check_size, n_classes_of
from hotlap.zoo.defaults import image_sizes, sgd

DATA = "hotlap.zoo.images.generated_boxes"

SCALES = (0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of `image_size` that an image's shorter side may have: 480 to 800, as the reference."""

ASPECT = 1333 / 800
"""The longer side's limit as a multiple of the shorter one's, as in Faster R-CNN's paper."""

N_REGIONS = 128
"""Regions of an image that the second stage learns from; scaled down from the paper's 512."""


def detector(
    data: dict[str, Any] | None = None,
    batch_size: int | None = None,
    image_size: int | None = None,
    backbone: str = "resnet18",
    n_classes: int | None = None,
    lr: float | None = None,
    weight_decay: float = 1e-4,
    device: str | None = None,
) -> Workload:
    """Faster R-CNN with a feature pyramid over a small ResNet, from random weights.

    A batch is a list of images, each of shape (3, height, width), and a list of their targets.

    Args:
        data: A data config; None takes the generated images with the boxes painted in them.
        batch_size: None is 2 on a CPU and 16 on a GPU.
        image_size: The shorter side's largest length in pixels. None is 128 on a CPU and 800 on a
            GPU.
        backbone: One of torchvision's ResNets.
        n_classes: Classes with the background. None takes the data's.
        lr: None is 0.02 for 16 samples, in proportion, as torchvision's reference.
        weight_decay: Of SGD.
        device: None is "cuda" where there is one, else "cpu".

    Raises:
        UserInputError: An argument cannot be used; the message says which and what would be right.
    """
    device, batch_size, image_size = image_sizes(
        device, batch_size, image_size, cpu=(2, 128), cuda=(16, 800)
    )
    dataset = build(data, DATA, device=device)
    check_size(dataset, batch_size)
    return Workload(
        model=_faster_rcnn(backbone, image_size, n_classes_of(dataset, n_classes)),
        dataset=dataset,
        loss=detection_loss,
        optimizer=sgd(lr, weight_decay, batch_size, lr_for=(0.02, 16)),
        batch_size=batch_size,
        collate_fn=collate,
        n_samples=count,
        split=split,
        device=device,
        name="detector",
    )


def detection_loss(model: nn.Module, batch: Any) -> torch.Tensor:
    """Sum of the detector's four losses, each a mean over the batch's samples."""
    images, targets = batch
    losses: list[torch.Tensor] = list(model(images, targets).values())
    return torch.stack([loss.float() for loss in losses]).sum()


def collate(samples: list[Any]) -> tuple[list[Any], list[Any]]:
    """Images of different sizes cannot be stacked: two lists instead."""
    return [image for image, _ in samples], [target for _, target in samples]


def count(batch: Any) -> int:
    """Samples in a batch: its images."""
    return len(batch[0])


def split(batch: Any, n: int) -> Iterator[Any]:
    """Cut a batch into pieces of at most `n` samples."""
    images, targets = batch
    for start in range(0, len(images), n):
        yield images[start : start + n], targets[start : start + n]


def _faster_rcnn(backbone: str, image_size: int, n_classes: int) -> nn.Module:
    from torchvision.models.detection import FasterRCNN
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

    # Plain batch norm: frozen statistics are for pretrained weights, and these are random.
    body = resnet_fpn_backbone(
        backbone_name=backbone, weights=None, norm_layer=nn.BatchNorm2d, trainable_layers=5
    )
    model: nn.Module = FasterRCNN(
        body,
        num_classes=n_classes,
        min_size=tuple(round(scale * image_size) for scale in SCALES),
        max_size=round(ASPECT * image_size),
        box_batch_size_per_image=N_REGIONS,
    )
    return model
