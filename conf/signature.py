"""Signature: the parameters of a function named by dotted path, read from its source file.

Nothing is imported: a user's module may import torch, take seconds, or do anything. Where the
source does not tell (a decorator, an assignment, a compiled module), the signature is `open`:
the worker finds out.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from pkgutil import iter_modules

from conf.fault import nearest

MAX_HOPS = 8
"""So many re-exports (`from a import f`) are followed; a longer chain is open."""


@dataclass(frozen=True)
class Signature:
    """What a function takes.

    Attributes:
        names: Names that can be given as keywords, in order.
        required: Those of them without a default.
        keyword_only: Those of them that follow a bare `*`.
        open: True if it takes anything, or if its source does not tell.
        where: File and line of its definition.
    """

    names: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    keyword_only: tuple[str, ...] = ()
    open: bool = False
    where: str = ""

    def takes(self, name: str) -> bool:
        """True if `name` can be given as a keyword."""
        return self.open or name in self.names


class NotFound(Exception):
    """There is no such module or function; `near` is a dotted path that was probably meant."""

    def __init__(self, what: str, near: str = "") -> None:
        super().__init__(what)
        self.near = near


OPEN = Signature(open=True)


def signature(dotted: str, folders: Sequence[str] = (), hops: int = MAX_HOPS) -> Signature:
    """The signature of the function or class `dotted`, looked for in `folders` first.

    Raises:
        NotFound: There is no such module, or the module defines no such name.
    """
    parts = dotted.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise NotFound(f"'{dotted}' is no dotted path: module.function is wanted")
    spec, used = locate(parts, folders)
    rest = parts[used:]
    source = Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    if source is None:
        return OPEN
    if not rest:
        raise NotFound(f"'{dotted}' is a module, not a function", _first_function(dotted, source))
    body = _parse(source).body
    node = _binding(body, rest[0])
    if node is None:
        names = [name for statement in _flat(body) for name in _bound(statement)]
        if any(isinstance(s, ast.ImportFrom) and s.names[0].name == "*" for s in _flat(body)):
            return OPEN
        if "__getattr__" in names:
            return OPEN
        close = nearest(rest[0], names)
        near = ".".join([*parts[:used], close]) if close else ""
        raise NotFound(f"{source.name} defines no '{rest[0]}'", near)
    if isinstance(node, ast.ImportFrom) and hops > 0:
        return _followed(node, rest, parts[:used], spec, folders, hops)
    return _of_node(node, rest[1:], source)


def locate(parts: Sequence[str], folders: Sequence[str]) -> tuple[ModuleSpec, int]:
    """The spec of the longest module prefix of `parts`, and how many parts it takes.

    Raises:
        NotFound: No module begins so.
    """
    spec = PathFinder.find_spec(parts[0], list(folders)) or _top_level(parts[0])
    if spec is None:
        names = [module.name for module in iter_modules(list(folders))]
        close = nearest(parts[0], names)
        near = ".".join([close, *parts[1:]]) if close else ""
        raise NotFound(f"there is no module '{parts[0]}'", near)
    used = 1
    while used < len(parts) and spec.submodule_search_locations is not None:
        inside = list(spec.submodule_search_locations)
        # By its last name alone: a namespace package asks sys.modules for a parent by dotted name.
        below = PathFinder.find_spec(parts[used], inside)
        if below is None:
            if used < len(parts) - 1 and not (spec.origin and _defines(spec, parts[used])):
                close = nearest(parts[used], [module.name for module in iter_modules(inside)])
                near = ".".join([*parts[:used], close, *parts[used + 1 :]]) if close else ""
                raise NotFound(f"there is no module '{'.'.join(parts[: used + 1])}'", near)
            if spec.origin is None:
                raise NotFound(f"there is no module '{'.'.join(parts[: used + 1])}'")
            break
        spec, used = below, used + 1
    return spec, used


def _top_level(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)  # imports nothing for a name without dots
    except ValueError:  # a module without a spec, as __main__ is
        return None


def _defines(spec: ModuleSpec, name: str) -> bool:
    return bool(spec.origin) and _binding(_parse(Path(str(spec.origin))).body, name) is not None


def _followed(
    node: ast.ImportFrom,
    rest: Sequence[str],
    module: Sequence[str],
    spec: ModuleSpec,
    folders: Sequence[str],
    hops: int,
) -> Signature:
    """The signature behind `from x import name`, relative imports included."""
    name = next(a.name for a in node.names if (a.asname or a.name) == rest[0])
    base: list[str] = []
    if node.level:
        is_package = spec.submodule_search_locations is not None
        drop = node.level - 1 if is_package else node.level
        base = list(module[: len(module) - drop])
    target = [*base, *(node.module.split(".") if node.module else []), name, *rest[1:]]
    try:
        return signature(".".join(target), folders, hops - 1)
    except NotFound:
        return OPEN  # found where the user said; what is behind it is not ours to judge


def _of_node(node: ast.AST, rest: Sequence[str], source: Path) -> Signature:
    if isinstance(node, ast.ClassDef):
        method = _binding(node.body, rest[0] if rest else "__init__")
        if node.decorator_list or not isinstance(method, ast.FunctionDef) or len(rest) > 1:
            return OPEN
        if method.decorator_list:
            return OPEN
        return OPEN if rest else _of_function(method, source, skip=1)
    if rest or not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return OPEN
    return _of_function(node, source)


def _of_function(node: ast.FunctionDef, source: Path, skip: int = 0) -> Signature:
    args = node.args
    places = [*args.posonlyargs, *args.args]
    n_required = len(places) - len(args.defaults)
    required = [a.arg for a in places[:n_required]][skip:]
    required += [a.arg for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is None]
    names = [a.arg for a in [*args.args, *args.kwonlyargs]]
    names = names[skip:] if not args.posonlyargs else names
    return Signature(
        names=tuple(names),
        required=tuple(required),
        keyword_only=tuple(a.arg for a in args.kwonlyargs),
        open=args.kwarg is not None,
        where=f"{source}, line {node.lineno}",
    )


def _parse(source: Path) -> ast.Module:
    try:
        return ast.parse(source.read_bytes())
    except (OSError, SyntaxError) as error:
        raise NotFound(f"{source} cannot be read as Python: {error}") from error


def _binding(body: Iterable[ast.stmt], name: str) -> ast.stmt | None:
    """The last statement that binds `name`."""
    found = None
    for statement in _flat(body):
        if name in _bound(statement):
            found = statement
    return found


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those inside if, try and with included."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                yield from _flat(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _flat(handler.body)


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(a.asname or a.name).partition(".")[0] for a in statement.names]
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


def _first_function(dotted: str, source: Path) -> str:
    functions = [s.name for s in _flat(_parse(source).body) if isinstance(s, ast.FunctionDef)]
    public = [name for name in functions if not name.startswith("_")]
    return f"{dotted}.{public[0]}" if public else ""
