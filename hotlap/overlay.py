"""Lays an overlayfs over a folder, in the mount namespace that this process is in."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections import deque
from pathlib import Path

from hotlap import namespace

MEMORY_SHARE = 4
"""In memory an upper folder gets one part in so many of what is available."""

MAX_MOUNTS = 64
MAX_LOOKED_AT = 20_000
"""So many files of a user's folder are looked at, the upper levels first: 0.1 s."""


def cover(folder: Path, place: Path | None, options: str) -> tuple[int, list[str]]:
    """Cover `folder`, and enter the current folder anew.

    What is a file system of its own in `folder` (an overlayfs shows one alone) is put in its place
    again, and stays real.

    Args:
        folder: What to cover, an absolute path without links.
        place: An empty folder outside of `folder` for what is written; None for memory.
        options: Further options of overlayfs.

    Returns:
        A descriptor of the folder that gets what is written; what stays real.

    Raises:
        OSError: It is refused; the namespace is of no use any more.
    """
    others = other_mounts(folder)
    staying = {path: _opened(path) for path in others}
    lower = _opened(str(folder))
    if place is None:
        place = folder  # a memory disk over the folder, and over that the overlay
        size = f"size={_available_bytes() // MEMORY_SHARE}"
        namespace.mount("hotlap", str(folder), "tmpfs", 0, size)
    upper, work = _layers(place, os.fstat(lower))
    # By descriptor: a comma or a colon would end a path.
    layers = f"lowerdir={_path(lower)},upperdir={_path(upper)},workdir={_path(work)}"
    namespace.mount("hotlap", str(folder), "overlay", 0, f"{layers},{options}".rstrip(","))
    for path, fd in staying.items():
        namespace.mount(_path(fd), path, "", namespace.MS_BIND | namespace.MS_REC)
    for fd in (lower, work, *staying.values()):
        os.close(fd)
    os.chdir(os.getcwd())
    return upper, others


def other_mounts(folder: Path) -> list[str]:
    """Mount points in `folder`; those within another one come with it.

    Raises:
        OSError: There are too many.
    """
    found: list[str] = []
    for path in sorted(namespace.mount_points()):
        inside = folder in Path(path).parents
        if inside and not any(Path(path).is_relative_to(other) for other in found):
            with contextlib.suppress(FileNotFoundError, PermissionError):  # hidden, or not for us
                os.close(_opened(path))
                found.append(path)
    if len(found) > MAX_MOUNTS:
        raise OSError(f"{len(found)} file systems are mounted in {folder}")
    return found


def not_for_a_user(folder: Path) -> str:
    """Why a user who is not root cannot cover `folder`, or "".

    In a user namespace there is one user and one group. What belongs to others can be read as
    before, but what such a user may write through a group or for all cannot be changed any more:
    the changed copy would have an owner who does not exist there.
    """
    if others := other_mounts(folder):
        return f"{others[0]} is mounted in {folder}, and only root can cover a folder with such"
    me = (os.geteuid(), os.getegid())
    waiting, n_seen = deque([str(folder)]), 0
    while waiting and n_seen < MAX_LOOKED_AT:
        path, n_seen = waiting.popleft(), n_seen + 1
        try:
            about = os.lstat(path)
        except FileNotFoundError:  # another process has removed it meanwhile
            continue
        if (about.st_uid, about.st_gid) != me and not stat.S_ISLNK(about.st_mode):
            if os.access(path, os.W_OK):
                return (
                    f"{path} belongs to another user or group, and only root can have a scratch "
                    "copy of such"
                )
        if stat.S_ISDIR(about.st_mode):
            # Not for the script either, or gone by now.
            with contextlib.suppress(PermissionError, FileNotFoundError, NotADirectoryError):
                waiting.extend(os.path.join(path, name) for name in sorted(os.listdir(path)))
    return ""


def kind(path: str) -> str:
    """The kind of the file system that the absolute path lies on; "" if that is unknown."""
    kinds = namespace.mount_points()
    around = [path, *map(str, Path(path).parents)]
    return next((kinds[point] for point in around if point in kinds), "")


def _layers(place: Path, about: os.stat_result) -> tuple[int, int]:
    """The folder for what is written, and the one that overlayfs works in; as descriptors."""
    upper, work = (tempfile.mkdtemp(prefix=name, dir=place) for name in ("upper", "work"))
    os.chmod(upper, stat.S_IMODE(about.st_mode))  # the covered folder looks as this one
    if os.geteuid() == 0:
        os.chown(upper, about.st_uid, about.st_gid)
    return _opened(upper), _opened(work)


def _opened(path: str) -> int:
    return os.open(path, os.O_PATH)


def _path(fd: int) -> str:
    return f"/proc/self/fd/{fd}"


def _available_bytes() -> int:
    with open("/proc/meminfo", encoding="utf-8") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["MemAvailable"].split()[0]) * 1024
