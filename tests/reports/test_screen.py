"""A screen that nobody can read any more ends no study."""

import os
import subprocess
import sys

import pytest

from reports.screen import console
from reports.training import TrainingProgress
from tests.conftest import ROOT

TALKS = """
import sys
from reports import Progress, console
screen = console()
with Progress(screen) as progress:
    progress.note("first")
    sys.stdin.read()
    for i in range(100):
        progress.note(f"line {i}")
        progress.stage("search")
screen.print("last")
print("to nobody")
open(sys.argv[1], "w").write("done")
"""


@pytest.fixture
def talk(tmp_path):
    def talk(stdout, stderr):
        return subprocess.Popen(
            [sys.executable, "-c", TALKS, str(tmp_path / "report")],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            text=True,
        )

    return talk


def test_a_closed_terminal_is_read_by_nobody_and_all_goes_on(talk, tmp_path):
    ours, theirs = os.openpty()
    process = talk(theirs, theirs)
    os.close(theirs)
    seen = b""
    while b"first" not in seen:
        seen += os.read(ours, 4096)
    os.close(ours)  # the terminal is gone: each writing to it fails from now on
    process.communicate()
    assert process.returncode == 0
    assert (tmp_path / "report").read_text() == "done"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_a_log_on_a_full_disk_is_read_by_nobody_and_all_goes_on(talk, tmp_path):
    with open("/dev/full", "w") as full:
        process = talk(full, subprocess.PIPE)
    errors = process.communicate()[1]
    assert process.returncode == 0, errors
    assert errors == ""
    assert (tmp_path / "report").read_text() == "done"


def test_a_path_and_an_error_are_printed_as_they_are(capsys):
    """rich would take a part of each for a style, and one for a picture."""
    path = "outputs/mine [lr=0.1]/:key:/checkpoint.pt"
    reason = "[enforce fail at inline_container.cc:603] . unexpected pos 64 vs 0"
    with TrainingProgress(console(), 1, None) as progress:
        progress.event({"event": "unsaved", "path": path, "reason": reason})
    console().print(f"checkpoint: {path}")
    told = capsys.readouterr().out
    assert f"  the checkpoint {path} could not be saved: {reason}; the one before" in told
    assert told.endswith(f"checkpoint: {path}\n")
