"""A trial's scratch copy of the working folder: what the script writes there vanishes with it.

An overlayfs lies over the folder, in a mount namespace of the trial's own: what is read comes from
the real folder, what is written goes to an upper folder elsewhere. The processes that the script
starts are in the namespace too. Files opened before stay the real ones.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hotlap import namespace
from hotlap.overlay import cover, kind, not_for_a_user
from hotlap.scratch_place import bases, new_place, remove_left

MIN_FREE_BYTES = 1 << 30
"""A disk with less room is no place for the files of a trial; memory is taken then."""

ROOT_OPTIONS = ("redirect_dir=on,volatile", "volatile", "")
USER_OPTIONS = ("userxattr,volatile", "userxattr", "")
"""The best first, older kernels know the later ones only. `redirect_dir` lets folders be renamed.
`volatile` does not wait for the disk: files of a gone trial would be written while the next one
is timed."""


@dataclass(frozen=True)
class Scratch:
    """How the working folder is covered.

    Attributes:
        why_not: Why the script works in its real folder; "" if it works in a scratch copy.
        real: Folders and files in the working folder that are file systems of their own: they
            are not covered, what is written there stays.
    """

    why_not: str = ""
    real: tuple[str, ...] = ()
    _upper: int | None = None

    def written_bytes(self) -> int:
        """Bytes on disk of the files that were written so far; of a changed file all of it.

        To be asked in the trial's own process. 0 where nothing is covered, or where the script
        has closed descriptors that are not its own.
        """
        total = 0
        if self._upper is None:
            return total
        with contextlib.suppress(OSError):
            for _, _, names, fd in os.fwalk(".", dir_fd=self._upper):
                for name in names:
                    about = os.stat(name, dir_fd=fd, follow_symlinks=False)
                    if stat.S_ISREG(about.st_mode):  # what is deleted leaves a device file
                        total += min(about.st_size, about.st_blocks * 512)
        return total


def scratch(folder: Path) -> Scratch:
    """Cover `folder` for this process and all that come of it, and enter the current folder anew.

    To be called in a process with a single thread (`unshare` needs that), in front of the script
    and behind the opening of everything that shall go to real files. Forked processes try first:
    what the kernel refuses half-way would leave this one without its user.

    Args:
        folder: The script's working folder. The trial's own one may lie in it: a script that
            removes that one as well does so in the copy.
    """
    folder = Path(os.path.realpath(folder))
    if why_not := _unfit(folder):
        return Scratch(why_not)
    remove_left()
    for place in (_place(folder), None):
        for options in ROOT_OPTIONS if _is_root() else USER_OPTIONS:
            why_not = _in_a_fork(partial(_try, folder, place, options))
            if not why_not:
                upper, real = _enter_and_cover(folder, place, options)
                return Scratch("", tuple(real), upper)
    return Scratch(f"the kernel or the container refuses it ({why_not})")


def _unfit(folder: Path) -> str:
    if sys.platform != "linux":
        return f"this is {sys.platform}, and overlayfs is a part of Linux"
    if not os.path.isdir("/proc/self/task"):
        return "there is no /proc here"
    if len(os.listdir("/proc/self/task")) > 1:
        return "the trial's process has more than one thread"
    if folder == Path("/"):
        return "the working folder is /; start from the script's own folder"
    return "" if os.geteuid() == 0 else not_for_a_user(folder)


def _is_root() -> bool:
    """Whether this is root of the machine, not a user or the root of a container without rights."""
    return os.geteuid() == 0 and namespace.in_first_user_namespace()


def _place(folder: Path) -> Path | None:
    """A folder on a disk, outside of `folder`; None if there is none."""
    for base in bases():
        # An upper folder may not lie in the folder that it covers.
        if Path(base).is_relative_to(folder) or kind(base) == "tmpfs":
            continue
        with contextlib.suppress(OSError):  # it cannot be written
            if shutil.disk_usage(base).free >= MIN_FREE_BYTES:
                return new_place(base)
    return None


def _enter_and_cover(folder: Path, place: Path | None, options: str) -> tuple[int, list[str]]:
    # Root has no need of a user namespace: it could not read other users' files in one.
    user = os.geteuid() != 0
    namespace.enter(user)
    covered = cover(folder, place, options)
    if user:
        namespace.drop_capabilities()
    return covered


def _try(folder: Path, place: Path | None, options: str) -> str:
    """Why it does not work, or ""."""
    try:
        _enter_and_cover(folder, place, options)
        if os.access(folder, os.W_OK):
            os.rmdir(tempfile.mkdtemp(dir=folder))
    except OSError as error:
        return f"{error.strerror or error}; {folder} is on {kind(str(folder)) or 'an unknown disk'}"
    return ""


def _in_a_fork(question: Callable[[], str]) -> str:
    """The answer to `question`, which is asked in a forked process."""
    answers, answer = os.pipe()
    pid = os.fork()
    if pid == 0:
        text = "it ended without an answer"
        try:
            text = question()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        finally:
            os.write(answer, text.encode("utf-8", "replace")[:4096])
            os._exit(0)
    os.close(answer)
    with open(answers, "rb") as file:
        text = file.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return text if status == 0 else f"the attempt ended with code {status}"
