"""Mount and user namespaces by the system calls themselves: Python has them from 3.12 on only.

A mount namespace is a process's own view of what is mounted where; it ends with the last process
that is in it. Linux only. Call these in a process with a single thread: `unshare` changes the
calling thread alone, and refuses a user namespace to a process that has several.
"""

from __future__ import annotations

import ctypes
import os
import re

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_BIND = 1 << 12
MS_REC = 1 << 14
MS_SLAVE = 1 << 19
CAPABILITY_VERSION = 0x20080522
"""Linux's third version of the capability calls, of two 32-bit words for each set."""


def enter(user: bool) -> None:
    """Go into a mount namespace of this process's own.

    What is mounted here from now on is seen here alone; what the machine mounts later is still
    seen here, as a network drive that is mounted on first use.

    Args:
        user: Into a user namespace too, with the same user and group: a user who is not root may
            mount in a namespace of his own only.

    Raises:
        OSError: The kernel, or the container that this runs in, refuses it. With `user` the
            process may then be half inside, and is good for nothing else.
    """
    uid, gid = os.geteuid(), os.getegid()
    call("unshare", ctypes.c_int(CLONE_NEWNS | (CLONE_NEWUSER if user else 0)))
    if user:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    mount("none", "/", "", MS_REC | MS_SLAVE)


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    """Mount a file system, or bind a folder, as the system call of this name does.

    Raises:
        OSError: It is refused.
    """
    words = [os.fsencode(word) for word in (source, target, kind)]
    call("mount", *words, ctypes.c_ulong(flags), os.fsencode(options))


def drop_capabilities() -> None:
    """Give up what a new user namespace gave: else a script could write its read-only files.

    Raises:
        OSError: The kernel does not know this version of the call.
    """
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    call("capset", header, (ctypes.c_uint32 * 6)())


def in_first_user_namespace() -> bool:
    """Whether root is the machine's root here, not that of a container."""
    with open("/proc/self/uid_map", encoding="utf-8") as file:
        return file.read().split() == ["0", "0", "4294967295"]


def mount_points() -> dict[str, str]:
    """Each mount point of this namespace, a path, and its file system's kind."""
    found = {}
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file.read().splitlines():
            words = line.split()
            path = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), words[4])  # spaces
            found[os.fsdecode(path)] = words[words.index(b"-") + 1].decode()
    return found


def call(name: str, *arguments: object) -> None:
    """Call a function of the C library that answers 0, or -1 and an error number.

    Raises:
        OSError: It answers -1, or there is no such function.
    """
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        raise OSError(f"this C library has no {name}")
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _write(path: str, text: str) -> None:
    # Not a text file's write: an error comes at once, and there is one write.
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
