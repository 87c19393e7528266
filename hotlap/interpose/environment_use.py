"""Whether a script writes its process environment: its text is looked at, not run.

torch and OpenMP read some variables at their import. A script that writes them before that needs
a process in which torch is not imported yet; so does one with modules of its own that have the
names of installed ones, which may be imported already. In doubt the answer is yes: it costs
seconds, the other mistake would time the script in another environment than its own.
"""

from __future__ import annotations

import ast
import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path

from hotlap.interpose.script_text import parsed

MAX_FILES = 200
MAX_BYTES = 2_000_000
MAX_ENTRIES = 5_000
"""Bounds for what is looked at: files that are read, their text, names in folders. Some seconds."""

INSTALLED = frozenset({"site-packages", "dist-packages"})
READS = frozenset({"get", "copy", "items", "keys", "values", "__contains__", "__getitem__"})
LOOKS = frozenset({"dict", "len", "sorted", "list", "print", "str", "repr", "bool", "set"})
WRITERS = frozenset({"putenv", "unsetenv", "setenv", "load_dotenv"})
AT_IMPORT = (
    *("OMP_", "GOMP_", "MKL_", "OPENBLAS_", "KMP_AFFINITY", "KMP_BLOCKTIME"),
    *("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"),
    "PYTORCH_JIT",
)
"""How variables begin that torch and what it is linked with read once. Others of torch's are read
whenever they matter: Lightning writes PYTORCH_NVML_BASED_CUDA_CHECK at its import."""

RUNS_ANYTHING = frozenset({"exec", "eval", "__import__", "import_module", "run_path", "run_module"})


def needs_fresh(script_path: str, is_module: bool) -> bool:
    """Whether torch must not be there before the script: it may write the environment, say.

    Looked at are the script and what it imports from its own folder and from other folders that
    are no installation; all Python files in the script's folder if something runs code that is
    found at run time. Installed packages are not looked at; what they write shows in the probe
    (`written`).

    Args:
        script_path: The script's file.
        is_module: Whether it is a module's name instead, as after `python -m`.
    """
    if is_module or Path(script_path).suffix not in (".py", ".pyw"):  # a console script
        return True
    script = Path(os.path.realpath(script_path))
    folders = [script.parent, *_own_folders()]
    waiting, seen, n_bytes, all_there = deque([script]), {script}, 0, False
    try:
        while waiting:
            path = waiting.popleft()
            text = path.read_bytes()
            n_bytes += len(text)
            if n_bytes > MAX_BYTES:
                return True
            tree = parsed(text)
            if _writes(tree) or _instead(tree, script.parent):
                return True
            folders = list(dict.fromkeys([*folders, path.parent]))  # for relative imports
            more = list(_imported(tree, folders))
            if not all_there and _named(tree) & RUNS_ANYTHING:
                all_there = True
                more += _python_files(script.parent)
            new = [one for one in dict.fromkeys(more) if one not in seen]
            seen.update(new)
            waiting.extend(new)
            if len(seen) > MAX_FILES:
                return True
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return False


def written(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Variables that torch reads at its import and that were written: by a package, say."""
    names = before.keys() | after.keys()
    return sorted(n for n in names if n.startswith(AT_IMPORT) and before.get(n) != after.get(n))


def _writes(tree: ast.Module) -> bool:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    names = {"environ", "environb"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.module == "os":
                if any(one.name == "*" for one in node.names):
                    return True
                names |= {one.asname for one in node.names if one.name in names and one.asname}
    for node in ast.walk(tree):
        name = _name(node)
        if name in WRITERS or (isinstance(node, ast.Constant) and node.value == "environ"):
            return True
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = {one.name.partition(".")[0] for one in node.names}
            if isinstance(node, ast.ImportFrom):
                modules |= {(node.module or "").partition(".")[0]}
            if "dotenv" in modules or modules & WRITERS:
                return True
        if name in names and not _only_read(node, parents):
            return True
    return False


def _instead(tree: ast.Module, folder: Path) -> bool:
    """Whether it imports a module of the script's folder that has an installed one's name."""
    own = {path.relative_to(folder).parts[0] for path in _meant(tree, [folder])}
    names = {name.removesuffix(".py") for name in own}
    return any(
        name in sys.stdlib_module_names or PathFinder.find_spec(name, _installed()) is not None
        for name in names
    )


def _installed() -> list[str]:
    return [path for path in sys.path if not INSTALLED.isdisjoint(Path(path).parts)]


def _only_read(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether the environment, as `node` names it, is certainly not written, nor handed on."""
    parent = parents[node]
    if isinstance(parent, ast.Attribute):
        return parent.attr in READS
    if isinstance(parent, ast.Subscript):
        return parent.value is node and isinstance(parent.ctx, ast.Load)
    if isinstance(parent, ast.Call):
        return node in parent.args and _name(parent.func) in LOOKS
    if isinstance(parent, ast.keyword):
        return parent.arg is None
    if isinstance(parent, ast.Dict):
        return any(
            key is None and value is node
            for key, value in zip(parent.keys, parent.values, strict=True)
        )
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is node
    return isinstance(parent, (ast.Compare, ast.FormattedValue))


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _named(tree: ast.Module) -> set[str]:
    return {_name(node) for node in ast.walk(tree)}


def _meant(tree: ast.Module, folders: list[Path]) -> Iterator[Path]:
    """Files in `folders` that may be meant by the imports, those of packages on the way too."""
    dotted = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            dotted |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            dotted |= {base, *(f"{base}.{one.name}".strip(".") for one in node.names)}
    for folder in folders:
        for name in sorted(dotted):
            path = folder
            for part in filter(None, name.split(".")):
                path = path / part
                for file in (path.with_name(f"{part}.py"), path / "__init__.py"):
                    if file.is_file():
                        yield file


def _imported(tree: ast.Module, folders: list[Path]) -> Iterator[Path]:
    """Those files by their real paths, so that none is looked at twice."""
    return (Path(os.path.realpath(file)) for file in _meant(tree, folders))


def _own_folders() -> list[Path]:
    """Folders on the import path that are no installation: PYTHONPATH, a package being written."""
    fixed = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix)}
    found = []
    for path in [*os.environ.get("PYTHONPATH", "").split(os.pathsep), *sys.path]:
        real = Path(os.path.realpath(path))
        installed = any(real.is_relative_to(one) for one in fixed)
        installed = installed or not INSTALLED.isdisjoint(real.parts)
        if path and real.is_dir() and not installed:
            found.append(real)
    return found


def _python_files(folder: Path) -> list[Path]:
    """All Python files in `folder` and its folders.

    Raises:
        OSError: There is too much in it.
    """
    found: list[Path] = []
    n_entries = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        n_entries += len(folders) + len(names)
        if n_entries > MAX_ENTRIES:
            raise OSError(f"{folder} has more than {MAX_ENTRIES} entries")
        found += [Path(place, name) for name in sorted(names) if name.endswith(".py")]
    return found
