"""Scripts in processes of their own, plain and under `hotlap run`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hotlap.job import Window
from tests.conftest import ROOT
from tests.hotlap.script.conftest import Scripts

EXAMPLES = ROOT / "examples"

WATCHED = """\
settings: {num_workers: 1, persistent_workers: true}
provenance: {tuned: [memory_format, amp, compile_mode, optimizer_kernel]}
"""
"""Kept workers; and what the script has by itself, so that its model and optimizer are watched."""

ENDLESS = Window(max_s=1e6, min_s=1e6, block_s=1e-3)
"""A trial in which the script goes on to its own end."""


class Runs:
    """Runs commands in a folder; `hotlap` comes from this clone."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

    def plain(self, *words, **more):
        return self._run([sys.executable, *words], **more)

    def hotlap(self, settings, *words, **more):
        path = self.folder / "frozen.yaml"
        path.write_text(settings)
        return self._run([*self.command(path), *words], **more)

    def watched(self, *words, **more):
        """As in a trial: nothing is imposed, and all that the script does is watched."""
        return self.plain(Path(__file__).with_name("watched.py"), *words, **more)

    def command(self, path):
        return [sys.executable, "-m", "hotlap", "run", "--settings", str(path)]

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def _run(self, words, env=None, **more):
        return subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            env={**self.env, **(env or {})},
            capture_output=True,
            text=True,
            timeout=250,
            **more,
        )


def said(done):
    """What a script under `hotlap run` said on standard error, without hotlap's own one line."""
    first, line, rest = done.stderr.partition("hotlap: nothing to put in force: ")
    assert line and "lists no setting as tuned\n" in rest
    return first + rest.partition("\n")[2]


def lines(done):
    """The lines on standard error, less what a CPU without bf16 is told of amp=bf16."""
    return [line for line in done.stderr.splitlines() if "ask for amp=bf16" not in line]


def losses(text):
    """The lines that have a number to the bit."""
    return [line for line in text.splitlines() if re.search(r"\b0x[01]\.", line)]


@pytest.fixture
def scripts(runner, tmp_path):
    """Jobs on scripts."""
    return Scripts(runner, tmp_path)


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)
