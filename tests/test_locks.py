"""On a file system without locks everything goes on, and says what to keep apart.

The kernel refuses flock to a process by a filter, as such a file system does: with ENOLCK.
"""

import json
import os
import platform
import subprocess
import sys

import pytest

from tests.conftest import ROOT

FLOCK = {"x86_64": 73, "aarch64": 32}

REFUSED = """
import ctypes, struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (0x06, 0, 0, 0x50000 | 37),
        (0x06, 0, 0, 0x7FFF0000)]  # load the call's number; this one? error 37; else allowed
filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = struct.pack("HL", len(code), ctypes.addressof(filters))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit(99)
"""
"""seccomp(2): this process, and nothing else, gets the error."""

USES = """
import json
from pathlib import Path
from hotlap.settings import Settings
from hotlap.zoo.cache import lock
from runners.table_writer import TableWriter
from studies import Bank, held
sys.path.insert(0, "tests/studies")
from banked import origin_of, plain_goal

notes, here = [], Path(sys.argv[2])
with held(here, notes.append):
    pass
with lock(here / "images.lock", lambda: None):
    pass
with TableWriter(here / "table.jsonl", {"workload": {"name": "mine"}}, notes.append):
    pass
bank = Bank(here / "bank", notes.append)
added = [bank.store(Settings(), origin_of(plain_goal()), lambda old: False) for _ in range(2)]
print(json.dumps([notes, added]))
"""


@pytest.mark.skipif(
    platform.machine() not in FLOCK, reason="this machine's calls have no names here"
)
def test_where_nothing_can_be_locked_everything_goes_on_and_says_so(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", REFUSED + USES, str(FLOCK[platform.machine()]), str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if done.returncode == 99:
        pytest.skip("this machine lets no process filter its calls")
    assert done.returncode == 0, done.stderr
    notes, added = json.loads(done.stdout)
    assert [note.partition(" cannot be locked (No locks available)")[0] for note in notes] == [
        str(tmp_path / ".lock"),
        str(tmp_path / "table.jsonl"),
        f"the bank {tmp_path / 'bank'}",
    ]
    assert f"{tmp_path / 'images.lock'} cannot be locked" in done.stderr
    assert added == ["added", "updated"]
