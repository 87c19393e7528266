"""The file that `python -m package.module` would run, found without importing the packages."""

from __future__ import annotations

from collections.abc import Sequence
from pkgutil import iter_modules

from conf.fault import nearest
from conf.signature import NotFound, locate


def module_file(dotted: str, folders: Sequence[str]) -> str:
    """The source of the module, or of a package's `__main__`; empty if it has none to read.

    Args:
        dotted: The module's name.
        folders: Where it is looked for before Python's own path.

    Raises:
        NotFound: There is no such module, or it is one that cannot be run.
    """
    parts = dotted.split(".")
    if not all(part.isidentifier() for part in parts):
        raise NotFound("that is no module's name: names with dots between them are wanted")
    spec, used = locate(parts, folders)
    inside = list(spec.submodule_search_locations or ())
    names = [module.name for module in iter_modules(inside)]
    if used < len(parts):
        close = nearest(parts[used], names)
        known = ".".join(parts[:used])
        what = (
            f"there is no module '{parts[used]}' in {known}" if inside else f"{known} is no package"
        )
        near = ".".join([*parts[:used], *([close] if inside else [])])
        raise NotFound(what, near if close or not inside else "")
    if inside:
        if "__main__" not in names:
            runnable = nearest("train", names) or (names[0] if len(names) == 1 else "")
            near = f"{dotted}.{runnable}" if runnable else ""
            raise NotFound("that is a package, and it has no __main__.py to run", near)
        spec, _ = locate([*parts, "__main__"], folders)
    if spec.origin in ("built-in", None):
        raise NotFound("that is a part of Python itself, which cannot be run")
    return spec.origin if spec.origin and spec.origin.endswith(".py") else ""
