"""One environment for each rival: the standard library's venv, and pip.

A rival is installed as its documentation says, by its name and release, beside the torch release
that this interpreter has, so that all tuners tune the same torch. What is installed stays in a
folder outside the checkout and is used again while the requirements are the same.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from importlib import metadata
from pathlib import Path

MARK = "requirements.installed"
"""Written last, into an environment that is complete."""

INSTALL_S = 1800.0
"""Longest installation: torch with its CUDA libraries over a slow line."""


class CannotInstall(Exception):
    """A rival's environment could not be made; the text is the reason, in a line."""


def requirements() -> dict[str, list[str]]:
    """What each rival needs. train-doctor runs a command in the command's own environment."""
    torch = f"torch=={metadata.version('torch').partition('+')[0]}"
    return {
        "pytorch-autotune": ["pytorch-autotune==2.0.0", torch],
        "train-doctor": ["train-doctor==0.2.0"],
        "optuna": ["optuna", torch, "numpy"],
    }


def default_folder() -> Path:
    """`hotlap-rivals` in the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "hotlap-rivals"


def prepare(name: str, folder: Path, share: bool) -> Path:
    """The interpreter of `name`'s environment in `folder`, made if it is not there.

    Args:
        name: One of `requirements`.
        folder: Where the environments lie.
        share: See this interpreter's packages too, so that torch is not downloaded once more.

    Raises:
        CannotInstall: venv or pip failed.
    """
    place = folder / name
    python = place / "bin" / "python"
    wanted = "\n".join([*requirements()[name], f"share={share}"])
    mark = place / MARK
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return python
    try:
        venv.EnvBuilder(with_pip=True, clear=True).create(place)
        if share:
            (site,) = place.glob("lib/python*/site-packages")
            (site / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        words = [str(python), "-m", "pip", "install", "-q", *requirements()[name]]
        subprocess.run(words, check=True, capture_output=True, text=True, timeout=INSTALL_S)
    except subprocess.CalledProcessError as error:
        raise CannotInstall(last_line(error.stderr or error.stdout or str(error))) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(last_line(str(error))) from error
    mark.write_text(wanted, encoding="utf-8")
    return python


def last_line(text: str | bytes) -> str:
    """The last line that says something: of pip's and Python's output, the error."""
    text = text.decode(errors="replace") if isinstance(text, bytes) else text
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no reason was given"])[-1][:200]
