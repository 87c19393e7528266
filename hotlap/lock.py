"""Locks on open files, which the kernel lets go of when their holder ends, however it ends."""

from __future__ import annotations

import errno
import fcntl

UNSUPPORTED = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)
"""What file systems without locks answer: some that come over the network, some in user space."""


def take(fd: int, wait: bool = False) -> str:
    """Lock an open file for this process alone.

    Args:
        fd: Its descriptor.
        wait: Whether to wait while another process holds it.

    Returns:
        Empty, or what the file system says that has no locks. Then nobody is kept out.

    Raises:
        BlockingIOError: Another process holds it, and this one does not wait.
        OSError: It cannot be locked for another reason.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        return error.strerror or str(error)
    return ""
