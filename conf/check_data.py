"""Checking that the files are there which the data of hotlap's own groups are read from."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from conf.fault import Fault
from conf.place import place_of
from conf.schema import Common
from conf.sources import Sources

FOLDER = "a folder that holds one folder of images for each class"
FILE = "a text file, or null for the text that comes with Python"

READ_FROM = {
    "hotlap.zoo.images.image_folder": ("root", FOLDER, "/path/to/images"),
    "hotlap.zoo.text.text": ("path", FILE, "/path/to/a/text"),
}
"""A data set's function -> its argument that is a path, what has to be there, an example."""


def faults(config: Common, sources: Sources) -> Iterator[Fault]:
    """All paths of `data`, and of the data within it, at which there is nothing to read."""
    at, data = "data", config.data
    while isinstance(data, Mapping):
        argument, right, example = READ_FROM.get(str(data.get("dataset")), ("", "", ""))
        if argument and (what := _wrong(f"{at}.{argument}", data.get(argument), right)):
            yield sources.fault(
                f"{at}.{argument}",
                what=what,
                right=right,
                cure=_cure(config, f"{at}.{argument}", data.get(argument), example),
            )
        at, data = f"{at}.of", data.get("of")  # resident data are of another data set


def _wrong(key: str, path: Any, right: str) -> str:
    """What is wrong with the path; empty if nothing is."""
    if path is None or path == "":
        return f"{key} is not set" if right is FOLDER else ""
    told = f"{key} is {path!r}, and"
    if not isinstance(path, str) or not path.strip():
        return f"{told} that is no path"
    try:
        mode = os.stat(place_of(path)).st_mode
        if right is FILE:
            return "" if stat.S_ISREG(mode) else f"{told} that is no file"
        if not stat.S_ISDIR(mode):
            return f"{told} that is no folder"
        with os.scandir(place_of(path)) as found:
            return "" if any(one.is_dir() for one in found) else f"{told} there is no folder in it"
    except FileNotFoundError:
        return f"{told} there is no such {'folder' if right is FOLDER else 'file'}"
    except (OSError, ValueError, RuntimeError) as error:
        return f"{told} it cannot be read ({getattr(error, 'strerror', None) or error})"


def _cure(config: Common, key: str, path: Any, example: str) -> str:
    """What to type; a study or run that goes on takes no other path."""
    if getattr(config, "resume", None) and path:
        return f"ln -s <where it is now> {path}"
    return f"{key}={example}"
