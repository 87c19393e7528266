"""Whether a script may be imported a second time: by loader workers that are not forked.

A worker started by spawn or forkserver imports the script anew, under another name. A script that
trains at module level, without `if __name__ == "__main__":`, would train as a whole in each worker
before the first batch comes. So the script's text is looked at, not run, and so is the line of it
that runs when workers are about to start.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from hotlap.interpose.script_text import parsed

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
    tree = parsed(source)
    own = {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    lines = [
        node.lineno
        for node in _at_module_level(tree.body)
        if isinstance(node, (ast.For, ast.While))
        or (isinstance(node, ast.Call) and getattr(node.func, "id", None) in own)
    ]
    return _sentence(name, min(lines)) if lines else ""


def unguarded_main() -> str:
    """The same for the script that runs in this process; "" where there is no file to look at."""
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    spec = getattr(main, "__spec__", None)
    # A package's __main__ is never imported anew by multiprocessing.
    if main is None or path is None or (spec is not None and spec.name.endswith("__main__")):
        return ""
    try:
        with open(path, "rb") as file:
            source = file.read().decode("utf-8", "replace")
        return unguarded(source, path) or _runs_unguarded(source, path, vars(main))
    except (OSError, SyntaxError, ValueError):  # no Python text: an interactive session, a zip
        return ""


def _runs_unguarded(source: str, name: str, names: dict[str, Any]) -> str:
    """The same, from what runs just now: code at module level that an import would run, too.

    The text alone does not tell that `trainer.fit()` trains; that it is running does.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals is names and frame.f_code.co_name == "<module>":
            line = frame.f_lineno
            guarded = (
                statement
                for node in ast.walk(parsed(source))
                if isinstance(node, ast.If) and _is_guard(node.test)
                for statement in node.body
            )
            if any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in guarded):
                return ""
            return _sentence(name, line)
        frame = frame.f_back
    return ""


def _sentence(name: str, line: int) -> str:
    return (
        f"{name}:{line} works at module level, outside "
        '`if __name__ == "__main__":`, so each worker would run it again'
    )


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
