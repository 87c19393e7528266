"""Checking a script of one's own: it is there, it is Python, and nothing of a model is beside it.

The script is read and not run, and a module is looked for without importing its packages.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from conf.fault import Fault, nearest
from conf.module_file import module_file
from conf.near_script import near_script
from conf.schema import TuneConfig
from conf.signature import NotFound
from conf.sources import Sources, shown
from conf.words import RAW
from hotlap.errors import UserInputError
from hotlap.interpose.launch import found
from hotlap.settings import NAMES


def faults(config: TuneConfig, sources: Sources) -> Iterator[Fault]:
    """All that is wrong with `script` or `module` and what stands beside it."""
    named = [key for key in RAW if getattr(config, key) is not None]
    if "cwd" in sources.typed:
        yield sources.fault(
            "cwd",
            what="cwd is filled in: a study runs where it is begun",
            right="the command in that folder",
            cure="cd <that folder>, and the command without cwd=",
        )
    if not named:
        for key in ("script_args", "override"):
            if getattr(config, key):
                yield _without_script(key, sources)
        return
    if len(named) > 1:
        yield sources.fault(
            "module",
            what=f"script={config.script} and module={config.module} are both named",
            right="a study has one of them",
            cure=f"the command without module={config.module}",
        )
        return
    yield from _beside(config, named[0], sources)
    if config.cwd and not os.path.isdir(config.cwd):
        yield sources.fault(
            "cwd",
            what=f"the script runs in {config.cwd}, and that folder is gone",
            right="the folder in which the study began",
            cure=f"mkdir {config.cwd} and what the script needs in it, or a new study",
        )
    elif config.module is not None:
        yield from _module(config, config.module, sources)
    else:
        yield from _script(config, config.script or "", sources)


def _without_script(key: str, sources: Sources) -> Fault:
    return sources.fault(
        key,
        what=f"{key} is about a script of one's own, and none is named",
        right="a script, or the command without it",
        cure="script=<your script>",
    )


def _beside(config: TuneConfig, named: str, sources: Sources) -> Iterator[Fault]:
    """The faults of what only a model understands."""
    value = getattr(config, named)
    subject = f"{named}={shown(Path(value)) if named == 'script' and value else value}"
    model = config.model
    if isinstance(model, dict) and "workload" not in model:
        for name in model:
            yield _not_beside(f"model.{name}", subject, "its arguments follow a bare --", sources)
    elif model is not None:
        yield sources.fault(
            "model",
            what=f"a model and {subject} are both named",
            right="a study has one of model, script and module",
            cure=f"the command without +model, or without {subject}",
        )
    if config.data and not (isinstance(model, dict) and "workload" in model):
        yield _not_beside("data", subject, "it reads its data itself", sources)
    if config.device is not None:
        yield _not_beside("device", subject, "it chooses its device itself", sources)
    for name in config.override:
        if name not in NAMES:
            close = nearest(name, NAMES)
            names = [close if other == name else other for other in config.override]
            yield sources.fault(
                "override",
                what=f"override names '{name}', which is no setting",
                right=f"did you mean '{close}'?" if close else f"some of {', '.join(NAMES)}",
                cure=f"override=[{','.join(names)}]" if close else "override=[amp]",
            )


def _not_beside(key: str, subject: str, why: str, sources: Sources) -> Fault:
    return sources.fault(
        key,
        what=f"{key} cannot reach {subject}",
        right=f"a script is run as it is: {why}",
        cure=f"the command without {key}",
    )


def _script(config: TuneConfig, script: str, sources: Sources) -> Iterator[Fault]:
    try:
        path = found(script, "module=") if script else ""
    except UserInputError as error:
        what, _, right = str(error).rpartition("; ")
        yield _not_there(config, script, what, right, sources)
        return
    if not path:
        yield _not_there(config, script, "script is empty", "a path to a Python script", sources)
    elif reason := _no_python(path):
        yield sources.fault(
            "script",
            what=f"{script} cannot be run by Python: {reason}",
            right="a Python script, as after `python`",
            cure="script=<your script>",
        )


def _not_there(config: TuneConfig, script: str, what: str, right: str, sources: Sources) -> Fault:
    close = near_script(script)
    several = script.split(",")
    if config.resume:
        right, close = "the script with which the study was begun", ""
        cure = "the file put back, or script=<its new path> without resume= for a new study"
    elif len(several) > 1 and all(map(os.path.isfile, several)):
        right, cure = "one script for a study: each has its own command", f"script={several[0]}"
    elif _is_module(config, script):
        right, cure = "a module is named with module=", f"module={script}"
    elif close and close != script:  # else it is there, but of another Python
        right, cure = f"did you mean '{close}'?", f"script={close}"
    else:
        cure = "script=<your script>"
    return sources.fault("script", what=what, right=right, cure=cure)


def _is_module(config: TuneConfig, name: str) -> bool:
    if name.endswith(".py"):
        return False
    try:
        module_file(name, [config.cwd or os.getcwd()])
    except NotFound:
        return False
    return True


def _module(config: TuneConfig, module: str, sources: Sources) -> Iterator[Fault]:
    folder = config.cwd or os.getcwd()
    try:
        path = module_file(module, [folder])
    except NotFound as error:
        is_file = os.path.isfile(os.path.join(folder, module))
        near = f"did you mean '{error.near}'? " if error.near else ""
        yield sources.fault(
            "module",
            what=f"module is '{module}': {error}",
            right="a file is named with script="
            if is_file
            else f"{near}a module as after `python -m`, looked for first in {folder}",
            cure=f"script={module}" if is_file else f"module={error.near or 'package.train'}",
        )
        return
    if path and (reason := _no_python(path)):
        yield sources.fault(
            "module",
            what=f"{module} cannot be run by Python: {reason}",
            right=f"a module of Python's language in {path}",
            cure="module=package.train",
        )


def _no_python(path: str) -> str:
    """Why the file cannot be read as a Python program; empty if it can."""
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the script's own business, told when it runs
            compile(file.read(), path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"{error.msg} (line {error.lineno})"
    except (OSError, ValueError) as error:
        return str(error)
    return ""
