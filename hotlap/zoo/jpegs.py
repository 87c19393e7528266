"""Generates JPEG files that cost what photos cost to decode, once, into the cache folder.

ImageNet's photos are about 500 x 375 pixels and 110 KB each. A flat or a purely random picture of
that size decodes much faster or slower, so each picture here has what a photo has: structure at
every scale (amplitude falling with frequency, as in natural images; Field 1987), a few objects with
edges, and the sensor's grain. No torch here.
"""

from __future__ import annotations

import colorsys
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hotlap.progress import preparing
from hotlap.zoo.cache import cache_folder, lock, write_bytes

Progress = Callable[[int, int], None]
"""Called with the number of pictures that are there, and the number wanted."""

SIZES = ((500, 375),) * 5 + ((375, 500), (375, 500), (500, 333), (333, 500), (480, 360))
"""Width and height in pixels; most of ImageNet's photos have one of these two aspect ratios."""

QUALITY = 95
GRAIN = 10.0
"""Quality and grain (standard deviation, grey levels) that make 110 KB of 500 x 375 pixels."""

COARSEST = 6
"""The first layer of structure has cells of 2**6 pixels; each next one has half as large cells."""

KINDS = ("ellipse", "rectangle", "triangle")
"""What an object may be; its label for a detector is its place here plus one (0 is background)."""

VERSION = 1
"""Raise it when pictures change: it is part of the folder's name."""


@dataclass(frozen=True)
class Scene:
    """What is in one picture. Boxes are (left, top, right, bottom) in pixels."""

    width: int
    height: int
    label: int
    hue: float
    kinds: tuple[int, ...]
    boxes: tuple[tuple[int, int, int, int], ...]


def generate(
    n_images: int = 1024,
    n_classes: int = 16,
    seed: int = 0,
    progress: Progress | None = None,
) -> Path:
    """The folder of an ImageFolder tree with these pictures, generated if it is not there yet.

    Two processes may call this at once: one generates, the other waits, and tells how far that
    one is. What a killed process left is completed. `progress` takes the place of hotlap.preparing.

    Raises:
        UserInputError: The cache folder cannot be written to.
    """
    home = cache_folder() / f"jpegs-v{VERSION}-{n_images}-{n_classes}-{seed}"
    tree, complete = home / "images", home / "complete.json"
    if complete.exists():
        return tree

    def waiting() -> None:
        n_there = sum(1 for _ in tree.glob("class_*/*.jpg"))
        told = progress or partial(preparing, "waiting for another process that generates JPEGs")
        told(min(n_there, n_images - 1), n_images)  # all is there when that one says so

    with lock(home.with_suffix(".lock"), waiting):
        if not complete.exists():
            tell = progress or partial(preparing, "generating JPEGs, once")
            _fill(tree, n_images, n_classes, seed, tell)
            facts = {"n_images": n_images, "n_classes": n_classes, "seed": seed}
            write_bytes(complete, json.dumps(facts).encode())
    return tree


def file_of(tree: Path, index: int, n_classes: int) -> Path:
    """Where picture `index` lies in `tree`."""
    return tree / f"class_{index % n_classes:04d}" / f"{index:07d}.jpg"


def scene(index: int, n_classes: int, seed: int) -> Scene:
    """What is in picture `index`: the same on each call, without painting it."""
    rng = np.random.default_rng((seed, index, 0))
    width, height = SIZES[rng.integers(len(SIZES))]
    boxes = []
    for _ in range(rng.integers(1, 6)):
        w, h = (int(side * rng.uniform(0.12, 0.5)) for side in (width, height))
        left, top = int(rng.integers(width - w)), int(rng.integers(height - h))
        boxes.append((left, top, left + w, top + h))
    label = index % n_classes
    kinds = tuple(int(k) for k in rng.integers(len(KINDS), size=len(boxes)))
    return Scene(width, height, label, label / n_classes, kinds, tuple(boxes))


def paint(what: Scene, rng: np.random.Generator) -> bytes:
    """The JPEG file of a scene; the class decides the main colour, `rng` the texture."""
    from PIL import Image

    picture = _structure(what, rng)
    canvas = Image.fromarray(picture)
    _draw_objects(canvas, what, rng)
    grain = GRAIN * rng.uniform(0.75, 1.25)
    noise = rng.standard_normal((what.height, what.width, 1), dtype=np.float32) * np.float32(grain)
    pixels = np.clip(np.asarray(canvas, dtype=np.float32) + noise, 0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=QUALITY)
    return file.getvalue()


def _fill(tree: Path, n_images: int, n_classes: int, seed: int, progress: Progress) -> None:
    for label in range(min(n_classes, n_images)):
        file_of(tree, label, n_classes).parent.mkdir(parents=True, exist_ok=True)
    for left_over in tree.glob("class_*/.*"):  # what a killed process had begun to write
        left_over.unlink()
    for index in range(n_images):
        path = file_of(tree, index, n_classes)
        # A file that has its name is whole, whoever wrote it and however that one ended.
        if not path.exists():
            rng = np.random.default_rng((seed, index, 1))
            write_bytes(path, paint(scene(index, n_classes, seed), rng))
        progress(index + 1, n_images)


def _structure(what: Scene, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Smooth structure, shape (height, width, 3): noise at each scale, weaker at finer ones."""
    from PIL import Image

    colour = np.array(colorsys.hsv_to_rgb(what.hue, 0.4, 0.55), dtype=np.float32) * 255
    picture: NDArray[Any] = np.broadcast_to(colour, (1, 1, 3)).astype(np.uint8)
    for level in range(COARSEST, 0, -1):
        size = (-(-what.width >> level), -(-what.height >> level))
        larger = Image.fromarray(picture).resize(size, Image.Resampling.BICUBIC)
        noise = rng.standard_normal((size[1], size[0], 3), dtype=np.float32)
        # Most of a photo's contrast is brightness, little is colour.
        noise = 0.8 * noise[..., :1] + 0.35 * noise
        amplitude = np.float32(36 * 0.72 ** (COARSEST - level))
        picture = np.clip(np.asarray(larger, dtype=np.float32) + amplitude * noise, 0, 255)
        picture = picture.astype(np.uint8)
    full = Image.fromarray(picture).resize((what.width, what.height), Image.Resampling.BICUBIC)
    return np.asarray(full)


def _draw_objects(canvas: Any, what: Scene, rng: np.random.Generator) -> None:
    from PIL import ImageDraw

    draw = ImageDraw.Draw(canvas)
    for kind, (left, top, right, bottom) in zip(what.kinds, what.boxes, strict=True):
        hue = kind / len(KINDS) + rng.uniform(0, 0.2)
        fill = tuple(int(255 * c) for c in colorsys.hsv_to_rgb(hue, 0.8, rng.uniform(0.5, 1)))
        if KINDS[kind] == "ellipse":
            draw.ellipse((left, top, right, bottom), fill=fill)
        elif KINDS[kind] == "rectangle":
            draw.rectangle((left, top, right, bottom), fill=fill)
        else:
            draw.polygon(((left, bottom), ((left + right) / 2, top), (right, bottom)), fill=fill)
