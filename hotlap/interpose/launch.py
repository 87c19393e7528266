"""Runs a script as Python itself would: `__main__`, sys.argv, sys.path, traceback, exit code.

The standard library's runpy is not enough: it takes the script's module away when the script's
last line is done, and threads and exit handlers still need it.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

from hotlap.errors import UserInputError
from hotlap.interpose.console_script import why_not
from hotlap.interpose.hidden import hidden


@dataclass(frozen=True)
class Script:
    """What to run.

    Attributes:
        target: A file, or a module's dotted name.
        is_module: Whether it is a module, as after `python -m`.
        args: Its arguments, as typed.
    """

    target: str
    is_module: bool
    args: list[str]


def found(word: str, as_module: str = "-m ") -> str:
    """The file that `word` means: a path, or a Python program on the search path.

    Args:
        word: As typed.
        as_module: What is typed before a module's name on this command line.

    Raises:
        UserInputError: There is no such file, it is no Python, or that of another environment.
    """
    path = Path(word)
    if path.is_dir():
        raise UserInputError(
            f"{word} is a folder; give the script in it, or a package as `{as_module}package`"
        )
    if os.path.isfile(word):  # Path would take `train.py/` for a file
        return word
    program = shutil.which(word) if os.sep not in word else None
    if program is None:
        raise UserInputError(
            f"there is no script {word} here (the current folder is {Path.cwd()}), nor a program "
            "of that name; give a path, a console script's name, or "
            f"`{as_module}package.module`"
        )
    if why := why_not(program):
        raise UserInputError(
            f"{program} {why}; give a Python script, `{as_module}package.module`, or a path, which "
            "this Python runs whatever its first line says"
        )
    return program


def launch(script: Script, begins: Callable[[], None] = lambda: None) -> None:
    """Run `script` in this process as its main program; returns when its last line is done.

    What it raises ends as in plain Python: SystemExit and KeyboardInterrupt go on, a traceback is
    printed without hotlap's own lines, and the exit code of an error is 1.

    Args:
        script: What to run.
        begins: Called right before its first line: there is such a script, and it can be read.

    Raises:
        UserInputError: There is no such module, or what it imports cannot be had.
    """
    module, code = _module(script) if script.is_module else _file(script)
    sys.modules["__main__"] = module
    begins()
    try:
        exec(code, module.__dict__)
    except KeyboardInterrupt as error:
        _hide_frames(_from(error.__traceback__, code))
        raise  # Python itself ends the process by the signal
    except Exception as error:
        _show(error, _from(error.__traceback__, code))


def _file(script: Script) -> tuple[ModuleType, CodeType]:
    sys.argv = [script.target, *script.args]
    # Python's own way to make it absolute: nothing else in it is made simpler.
    path = os.path.join(os.getcwd(), script.target.removeprefix("./"))
    folder = os.path.dirname(os.path.realpath(path))
    _first_on_path(folder)
    if sys.path[0] == folder:
        _refuse_hidden(path, folder)
    loader = SourceFileLoader("__main__", path)
    module = _main(__file__=path, __loader__=loader, __cached__=None)
    with io.open_code(path) as file:
        source = file.read()
    try:
        return module, compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        _show(error, None)


def _module(script: Script) -> tuple[ModuleType, CodeType]:
    _first_on_path(os.getcwd())
    sys.argv = ["-m", *script.args]  # as Python has it while it looks for the module
    spec = _spec(script.target)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _spec(f"{script.target}.__main__")
    code: CodeType | None = None
    if spec is not None and spec.loader is not None:
        code = getattr(spec.loader, "get_code", lambda name: None)(spec.name)
    if spec is None or code is None:
        raise UserInputError(
            f"there is no module {script.target} that can be run; it has to be found from the "
            f"current folder ({os.getcwd()}) or be installed, and a package needs a __main__.py"
        )
    origin = spec.origin or ""
    sys.argv[0] = origin
    module = _main(
        __file__=origin,
        __loader__=spec.loader,
        __cached__=spec.cached,
        __spec__=spec,
        __package__=spec.parent,
    )
    return module, code


def _spec(name: str) -> ModuleSpec | None:
    if "" in name.split("."):  # a relative name, which has no package to start from
        return None
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise  # the package is there, and imports something that is not


def _main(**names: Any) -> ModuleType:
    """A module with exactly the names that Python gives its main module."""
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, **names)
    if sys.version_info < (3, 14):
        module.__dict__.setdefault("__annotations__", {})
    return module


def _refuse_hidden(path: str, folder: str) -> None:
    names = " and ".join(hidden(path, folder))
    if names:
        raise UserInputError(
            f"the script imports {names} from beside it, in {folder}, and hotlap has imported "
            f"something else by that name before: rename {names}"
        )


def has_safe_path() -> bool:
    """Whether Python puts no folder before all others (-P, PYTHONSAFEPATH, -I)."""
    return bool(getattr(sys.flags, "safe_path", False) or sys.flags.isolated)


def _first_on_path(folder: str) -> None:
    if not has_safe_path():
        sys.path[0] = folder


def _show(error: Exception, traceback: TracebackType | None) -> NoReturn:
    """Print an error as Python does at its end, and exit."""
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)
    sys.exit(1)


def _hide_frames(traceback: TracebackType | None) -> None:
    """Let the error that ends this process be shown with `traceback` alone."""
    show = sys.excepthook

    def shown(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
        show(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = shown


def _from(traceback: TracebackType | None, code: CodeType) -> TracebackType | None:
    """The traceback from the script's first line on."""
    start = traceback
    while start is not None and start.tb_frame.f_code is not code:
        start = start.tb_next
    return start if start is not None else traceback
