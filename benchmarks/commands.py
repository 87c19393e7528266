"""The clone's own scripts as a user types them, for benchmarks that go by what they leave."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.machine import ROOT, Unmeasured

Sizes = Mapping[str, Sequence[str]]

SIZES: Sizes = {
    "resnet18": ("data.n_images=1024",),
    "gpt_small": ("data.n_bytes=150000",),
    "detector": ("data.n_images=192",),
}
"""Workload -> words for its data, so that an epoch takes about a minute on two cores."""


def words_of(model: str, sizes: Sizes, args: argparse.Namespace) -> list[str]:
    """What is typed behind the model for both scripts: its size, and the user's own words.

    Args:
        model: The workload.
        sizes: Such as `SIZES`.
        args: With `no_sizes` and `more`.
    """
    return [*(() if args.no_sizes else sizes.get(model, ())), *args.more]


def script(
    name: str,
    folder: Path,
    words: Sequence[str],
    verbose: bool = False,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a script of the clone without MLflow, and return what it printed, unless it was shown.

    Args:
        name: Such as `tune.py`.
        folder: Where it runs.
        words: Its command line.
        verbose: Show what it prints.
        environment: Variables beside this process's own.

    Raises:
        Unmeasured: It failed; with all that it printed.
    """
    done = subprocess.run(
        [sys.executable, str(ROOT / name), *words, "tracking=none"],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=None if verbose else subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return ended_well(done, name)


@contextlib.contextmanager
def kept_or_not(kept: Path | None) -> Iterator[Path]:
    """A folder for studies and runs: the user's own, or one that is thrown away."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.absolute()
        return
    with TemporaryDirectory() as folder:
        yield Path(folder)


def ended_well(done: subprocess.CompletedProcess[str], name: str) -> str:
    """What a process has printed, unless it was shown.

    Raises:
        Unmeasured: It failed; with all that it printed.
    """
    if done.returncode:
        said = f"{done.stdout or ''}{done.stderr or ''}"
        raise Unmeasured(f"{said}\n{name} ended with code {done.returncode}".lstrip())
    return done.stdout or ""
