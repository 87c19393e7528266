"""Locks on open files, which the kernel lets go of when their holder ends, however it ends."""

from __future__ import annotations

import errno
import fcntl

UNSUPPORTED = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)
"""What file systems without locks answer: some that come over the network, some in user space."""


def take(fd: int) -> str:
    """Lock an open file, by its descriptor, for this process alone.

    Returns:
        Empty, or what the file system says that has no locks. Then nobody is kept out.

    Raises:
        BlockingIOError: Another process holds it.
        OSError: It cannot be locked for another reason.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        return error.strerror or str(error)
    return ""
