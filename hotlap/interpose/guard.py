"""Whether a script may be imported a second time: by loader workers that are not forked.

A worker started by spawn or forkserver imports the script anew, under another name. A script that
trains at module level, without `if __name__ == "__main__":`, would train as a whole in each worker
before the first batch comes. So the script's text is looked at, not run.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

IMPORTS_ANEW = ("spawn", "forkserver")
"""Start methods whose workers import the main script."""


def unguarded(source: str, name: str) -> str:
    """Why `source` must not be imported by a worker, or "".

    It must not if code outside functions, classes and the guard loops (comprehensions are no
    loops here) or calls a function that the script itself defines.

    Args:
        source: The script's text.
        name: What it is called in the sentence.
    """
    tree = ast.parse(source)
    own = {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    lines = [
        node.lineno
        for node in _at_module_level(tree.body)
        if isinstance(node, (ast.For, ast.While))
        or (isinstance(node, ast.Call) and getattr(node.func, "id", None) in own)
    ]
    if not lines:
        return ""
    return (
        f"{name}:{min(lines)} works at module level, outside "
        '`if __name__ == "__main__":`, so each worker would run it again'
    )


def unguarded_main() -> str:
    """The same for the script that runs in this process; "" where there is no file to look at."""
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    # A package's __main__ is never imported anew by multiprocessing.
    if path is None or getattr(main, "__spec__", None) is not None:
        return ""
    try:
        with open(path, "rb") as file:
            return unguarded(file.read().decode("utf-8", "replace"), path)
    except (OSError, SyntaxError, ValueError):  # no Python text: an interactive session, a zip
        return ""


def _at_module_level(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes that run when the module is imported under another name."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.If) and _is_guard(node.test):
            waiting += node.orelse
        elif not isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        ):
            yield node
            waiting += ast.iter_child_nodes(node)


def _is_guard(test: ast.expr) -> bool:
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    words = {node.value for node in ast.walk(test) if isinstance(node, ast.Constant)}
    return "__name__" in names and "__main__" in words
