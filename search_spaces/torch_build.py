"""Which torch the workers will import, read from its files: the tuner imports none."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path


def torch_folder() -> Path | None:
    """Where torch is installed; None where it is not."""
    spec = importlib.util.find_spec("torch")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def torch_build() -> dict[str, str]:
    """`torch`, its version as `torch.__version__` has it, and `cuda`, what it was built for.

    The version that pip knows may lack the part behind the plus sign. What torch's version.py does
    not say, such as CUDA's version of a torch without it, is left out.
    """
    folder = torch_folder()
    if folder is None or not (path := folder / "version.py").is_file():
        return {}
    said = _constants(path.read_text(encoding="utf-8"))
    names = {"torch": "__version__", "cuda": "cuda"}
    return {name: said[theirs] for name, theirs in names.items() if theirs in said}


def _constants(source: str) -> dict[str, str]:
    """The texts that a module gives to names at its top level."""
    found: dict[str, str] = {}
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found |= {target.id: value.value for target in targets if isinstance(target, ast.Name)}
    return found
