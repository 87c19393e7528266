"""The script that was probably meant by a name that is not there."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

from conf.fault import nearest


def near_script(script: str) -> str:
    """The script in that folder, or the installed program, that was probably meant."""
    path = Path(script)
    if path.is_dir():
        scripts = sorted(file.name for file in path.glob("*.py"))
        main = [name for name in ("train.py", "main.py", "__main__.py") if name in scripts]
        best = (main or scripts or [""])[0]
        return os.path.join(script, best) if best else ""
    folder = os.path.dirname(script)
    names = _files(folder or ".")
    if os.sep not in script:
        names += _files(sysconfig.get_path("scripts"))
    close = nearest(path.name, names) or nearest(f"{path.name}.py", names)
    return os.path.join(folder, close) if close else ""


def _files(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_file())
    except OSError:  # there is no such folder, so nothing is near in it
        return []
