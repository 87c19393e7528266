"""Where a result comes from: versions, the git commit, the date."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from hotlap import __version__

FROM_PROBE = ("torch", "torchvision", "cuda", "cudnn", "python")
FROM_TUNER = ("optuna", "mlflow", "hydra-core")


def versions(facts: Mapping[str, Any]) -> dict[str, str]:
    """Versions of what took part: the worker's from the probe's `facts`, and the tuner's own."""
    found = {"hotlap": __version__}
    found |= {name: str(facts[name]) for name in FROM_PROBE if facts.get(name)}
    for name in FROM_TUNER:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def git_commit(folder: Path) -> str:
    """The commit checked out in `folder`, with `+` if there are changes; empty without git."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return commit + ("+" if _git(folder, "status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def now() -> str:
    """The time in UTC, as ISO 8601 has it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()
