"""Where a trial's scratch copy lies on disk, and how it goes away again, whatever ended the trial.

A place is a folder in the machine's folder for temporary files. The processes of its trial hold a
lock on it, and its name has the trial's process id: a place that nobody locks, of a process that
is gone, is left over. The fork server removes it when a trial is gone and when its tuner is gone;
where the server itself was killed, the next trial of any study of the same user does. What a
study's trials compile lies in such a place of the tuner's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from hotlap.lock import UNSUPPORTED

PREFIX = "hotlap-scratch-"
N_TRIES = 10

_locks: dict[Path, int] = {}
"""Descriptors of this process's own places, which hold their locks."""


def bases() -> list[str]:
    """The folders for temporary files, the user's choice first."""
    found = [os.path.realpath(folder) for folder in (tempfile.gettempdir(), "/var/tmp")]
    return [folder for folder in dict.fromkeys(found) if os.path.isdir(folder)]


def new_place(base: str) -> Path:
    """Make a place in the folder `base`, locked as long as this process or a fork of it is there.

    Raises:
        OSError: Nothing can be written in `base`.
    """
    for _ in range(N_TRIES):
        path = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        with contextlib.suppress(OSError):  # somebody who cleans up was faster than the lock
            _share(fd)
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                _locks[Path(path)] = fd  # it stays open, and with it the lock
                return Path(path)
        os.close(fd)
    raise OSError(f"folders made in {base} are gone at once")


def remove(place: Path) -> None:
    """Remove a place that this process has made, and let go of its lock."""
    shutil.rmtree(place, ignore_errors=True)
    os.close(_locks.pop(place))


def remove_left() -> None:
    """Remove this user's places that are left over."""
    for base in bases():
        for name in _names(base):
            with contextlib.suppress(OSError):  # gone meanwhile, or in use
                _remove(os.path.join(base, name))


def _names(base: str) -> list[str]:
    try:
        return [name for name in os.listdir(base) if name.startswith(PREFIX)]
    except OSError:  # a folder that may be written but not listed
        return []


def _remove(path: str) -> None:
    owner = os.path.basename(path).removeprefix(PREFIX).partition("-")[0]
    if not owner.isdigit() or _alive(int(owner)):  # a script may have closed the lock's descriptor
        return
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(fd).st_uid == os.geteuid():
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _open_up(path)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(fd)


def _open_up(path: str) -> None:
    """Let the folders in `path` be emptied: overlayfs's own one has no permission at all."""
    for folder, names, _ in os.walk(path):
        for name in names:
            inner = os.path.join(folder, name)
            if not os.path.islink(inner):
                os.chmod(inner, 0o700)


def _share(fd: int) -> None:
    """Lock it; where there are no locks, nobody else gets one to remove it either."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
