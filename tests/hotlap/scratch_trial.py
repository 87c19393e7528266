"""A process that covers its working folder as a trial does: USER FOLDER CODE.

USER is a number: root becomes that user first. Prints why it is not covered, or runs CODE.
"""

import ctypes
import os
import shutil  # noqa: F401 (CODE uses it, and root's Python may be closed to the user)
import subprocess  # noqa: F401
import sys
import tempfile
from pathlib import Path

from hotlap.scratch import scratch

PR_SET_DUMPABLE = 4

if __name__ == "__main__":
    user, folder, code = sys.argv[1:]
    os.chdir(folder)
    if int(user) != os.geteuid():
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # as after an exec of that user's own
        tempfile.tempdir = None
    log = os.open("events.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 2)
    covered = scratch(Path(folder))
    if covered.why_not:
        print(covered.why_not, flush=True)
        os._exit(3)
    exec(code)
    sys.stdout.flush()
    os._exit(0)
