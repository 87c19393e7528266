"""Real text as byte tokens: the sources of Python's own standard library, or the user's file."""

from __future__ import annotations

import os
import platform
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from hotlap.errors import UserInputError
from hotlap.zoo.cache import cache_folder, write_bytes

N_TOKENS = 256
"""One token for each value of a byte: any file is text, and nothing has to be downloaded."""

SKIPPED = {"site-packages", "dist-packages", "test", "tests", "__pycache__"}
"""Folders that differ from one installation of the same Python to the next."""


def text(
    path: str | None = None, n_bytes: int | None = 8_000_000, *, context: int = 128
) -> Dataset[Any]:
    """Pieces of a text, each `context` tokens with the tokens that follow them.

    Args:
        path: A file of one's own; None takes the standard library's sources, cached as one file.
        n_bytes: Take no more than this; None takes all.
        context: Tokens in a sample.

    Raises:
        UserInputError: The file is not there, or too short for one sample.
    """
    file = Path(path).expanduser() if path else standard_library(n_bytes)
    if not file.is_file():
        raise UserInputError(
            f"data.path is {path}, and there is no such file; type data.path=/path/to/a/text, or "
            "leave it out for the text that comes with Python"
        )
    length = min(file.stat().st_size, n_bytes or file.stat().st_size)
    if length <= context:
        raise UserInputError(
            f"the text {file} has {length} bytes, too few for one sample of {context} tokens and "
            f"the one that follows; take a longer text, or type model.context={max(1, length // 8)}"
        )
    return Pieces(file, length, context)


class Pieces(Dataset[Any]):
    """A file cut into pieces that do not overlap.

    A sample is `(tokens, next_tokens)`, both int64 of shape (context,). The file is mapped into
    memory by each process that reads it, so a loader's worker is not sent the whole text.
    """

    def __init__(self, file: Path, length: int, context: int) -> None:
        self.file = file
        self.length = length
        self.context = context
        self._bytes: Any = None

    def __len__(self) -> int:
        return (self.length - 1) // self.context

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        if self._bytes is None:
            self._bytes = np.memmap(self.file, dtype=np.uint8, mode="r")
        start = index * self.context
        piece = torch.from_numpy(self._bytes[start : start + self.context + 1].astype(np.int64))
        return piece[:-1], piece[1:]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_bytes": None}


def standard_library(n_bytes: int | None) -> Path:
    """A file in the cache with the sources of this Python's standard library, in order of name.

    Raises:
        UserInputError: This Python comes without sources, or the cache cannot be written to.
    """
    file = cache_folder() / f"python-{platform.python_version()}-{n_bytes or 'all'}.txt"
    if not file.exists():
        folder = Path(sysconfig.get_paths()["stdlib"])
        found = bytearray()
        for source in _sources(folder):
            found += source.read_bytes()
            if n_bytes and len(found) >= n_bytes:
                break
        if not found:
            raise UserInputError(
                f"there are no Python sources in {folder}, from which hotlap takes its text; "
                "name a text of your own: data.path=/path/to/a/text"
            )
        write_bytes(file, bytes(found[:n_bytes]))
    return file


def _sources(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - SKIPPED)
        yield from (Path(place, name) for name in sorted(files) if name.endswith(".py"))
