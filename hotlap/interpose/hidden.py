"""Modules beside a script that it cannot import, since this process has another one of that name.

Plain Python looks in the script's folder before all others. What is imported already, hotlap itself
above all, is never looked for again.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from hotlap.interpose.script_text import parsed

BUILT_IN = ("built-in", "frozen")
"""Origins of modules that plain Python, too, has before it looks into any folder."""

AT_START = frozenset(
    "_collections_abc _sitebuiltins abc codecs encodings genericpath io os posixpath site stat "
    "zipimport".split()
)
"""What plain Python imports before any script; most of it is frozen from 3.11 on only."""


def hidden(script: str, folder: str) -> list[str]:
    """Files beside the script that it imports, and would not get.

    Args:
        script: Its file.
        folder: Where plain Python looks for its modules first.
    """
    beside = [path for path in _modules(folder) if _is_another(path.stem, path)]
    used = _used(script, folder) if beside else set()
    return sorted(path.name for path in beside if path.stem in used)


def _modules(folder: str) -> list[Path]:
    try:
        paths = sorted(Path(folder).iterdir())
    except OSError:  # a folder that may not be listed
        return []
    return [p for p in paths if p.suffix == ".py" or (p / "__init__.py").is_file()]


def _is_another(name: str, path: Path) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is None or spec.origin is None or spec.origin in BUILT_IN or name in AT_START:
        return False
    own = path / "__init__.py" if path.is_dir() else path
    return Path(spec.origin).resolve() != own.resolve()


def _used(script: str, folder: str) -> set[str]:
    """Top-level names that the script imports, and the modules beside it that it imports."""
    waiting, names = [Path(script)], set[str]()
    while waiting:
        for name in _imports(waiting.pop()) - names:
            names.add(name)
            inner = (Path(folder, f"{name}.py"), Path(folder, name, "__init__.py"))
            waiting += [path for path in inner if path.is_file()]
    return names


def _imports(path: Path) -> set[str]:
    try:
        tree = parsed(path.read_bytes())
    except (OSError, SyntaxError, ValueError):  # its import will say so itself
        return set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
    return names
