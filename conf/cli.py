"""The front of tune.py and train.py: from the command line to checked, typed configs.

    sys.exit(main(sys.argv[1:], "config", tune))

Hydra composes the config and answers `--cfg` and `--info`. Studies are run by the loop below and
not by Hydra's launcher, which would leave files in the current folder and stop at the first
failure. Torch is not imported before the config is right.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.utils import get_args_parser

from conf.fault import Fault, nearest, report
from conf.groups import HERE
from conf.help import help_text
from conf.interrupt import INTERRUPTED, end_as_on_ctrl_c, raise_again
from conf.prepare import Prepared, Request, prepare, structure
from conf.session import Session
from conf.sources import shown
from conf.told import tell
from conf.words import a_bare_script, is_script, names_script
from hotlap import __version__
from hotlap.errors import UserInputError

DONE, FAILED, WRONG_INPUT = 0, 1, 2
"""Exit codes, beside INTERRUPTED."""

PROGRAMS = {"config": "python tune.py", "train": "python train.py"}

Task = Callable[[Any, str], int]
"""Runs one study or full run: takes its typed config and the config's YAML text, gives the code."""


def main(argv: Sequence[str], primary: str, task: Task) -> int:
    """Check what was asked for and run `task` for each job; returns the exit code.

    Args:
        argv: The words after the script's name.
        primary: `config` for tune.py, `train` for train.py.
        task: Called once for each job, in order; see `Task`.
    """
    raise_again()
    end_as_on_ctrl_c()
    try:
        code = _main(argv, primary, task)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        tell(stop)
        return INTERRUPTED
    except BrokenPipeError:  # --help | head -1: nobody reads the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def split_script_args(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is ours, and what follows a bare `--`: the script's own arguments, untouched."""
    words = list(argv)
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _main(argv: Sequence[str], primary: str, task: Task) -> int:
    ours, script_args = split_script_args(argv)
    if "--version" in ours:
        print(f"hotlap {__version__}")
        return DONE
    try:
        # Intermixed: `+model=x --config-dir my_conf budget=5m` is as good as any other order.
        args, unknown = get_args_parser().parse_known_intermixed_args(ours)
    except SystemExit as stop:  # argparse has said what is wrong
        return WRONG_INPUT if stop.code else DONE
    if args.hydra_help or args.shell_completion:
        return _hydra(args, args.overrides, primary)
    program = PROGRAMS[primary]
    faults = _flag_faults(args, unknown, primary)
    folder = Path(args.config_dir).expanduser().resolve() if args.config_dir else None
    if folder is not None and not folder.is_dir():
        faults.append(_no_folder(folder))
        folder = None
    base = Path(args.config_path).resolve() if args.config_path else HERE
    with Session(primary, folder, base, args.config_name) as session:
        if args.help:
            print(help_text(session))
            return DONE
        if session.find(session.primary) is None:
            print(report([*faults, _no_primary(session)]), file=sys.stderr)
            return WRONG_INPUT
        request = Request(session, args.overrides, args.multirun, program, script_args, faults)
        words = structure(request) if args.cfg or args.info else None
        if words is None:
            prepare(request)
    if folder is None and args.config_dir:
        # What the folder would have offered cannot be known.
        request.faults = [f for f in request.faults if f.key not in session.groups]
    if request.faults:
        print(report(request.faults), file=sys.stderr)
        return WRONG_INPUT
    if words is not None:
        return _hydra(args, words, primary)
    return max(_run(task, job) for job in request.jobs)


def _run(task: Task, job: Prepared) -> int:
    """One job; a failure is told and becomes a code, so that the next job of a sweep still runs."""
    try:
        return task(job.config, job.text)
    except Exception as error:
        tell(error)
        return WRONG_INPUT if isinstance(error, UserInputError) else FAILED


def _hydra(args: argparse.Namespace, words: Sequence[str], primary: str) -> int:
    """Let Hydra answer --cfg, --info, --hydra-help and the like with its own machinery."""
    flags = []
    for name in ("cfg", "package", "config_name", "config_dir", "info"):
        if getattr(args, name) is not None:
            flags += [f"--{name.replace('_', '-')}", getattr(args, name)]
    flags += [f"--{n.replace('_', '-')}" for n in ("resolve", "hydra_help") if getattr(args, n)]
    flags += ["--shell-completion"] if args.shell_completion else []
    base = str(Path(args.config_path).resolve()) if args.config_path else str(HERE)
    saved = sys.argv
    sys.argv = [saved[0], *words, *flags]
    try:
        hydra.main(config_path=base, config_name=primary, version_base="1.3")(_nothing)()
    except SystemExit as stop:
        return DONE if not stop.code else WRONG_INPUT
    finally:
        sys.argv = saved
    return DONE


def _nothing(config: Any) -> None:
    """Hydra wants a function even where it only shows the config."""


def _flag_faults(args: argparse.Namespace, unknown: Sequence[str], primary: str) -> list[Fault]:
    if any(word.startswith("-") for word in unknown):
        if names_script(args.overrides):
            return [_before_the_dashes(unknown)]
        bare = next((word for word in args.overrides if is_script(word)), "")
        if bare and primary == "config":  # one mistake: neither the script nor its words are named
            args.overrides.remove(bare)
            return [a_bare_script(bare, unknown)]
    flags = [f"--{name.replace('_', '-')}" for name in vars(args) if name != "overrides"]
    found = []
    for index, word in enumerate(unknown):
        if not word.startswith("-"):
            continue  # the value of the flag before it
        name, _, value = word.partition("=")
        if not value and unknown[index + 1 : index + 2]:
            value = unknown[index + 1]
        close = nearest(name, flags, likeness=0.75)
        key = name.lstrip("-").replace("-", "_")
        found.append(
            Fault(
                what=f"there is no flag '{word}'",
                where=f"command line: {word}",
                right=f"did you mean '{close}'?" if close else "keys have no dashes: key=value",
                cure=close or f"{key}={value or '<value>'}",
            )
        )
    return found


def _before_the_dashes(unknown: Sequence[str]) -> Fault:
    words = shlex.join(unknown)
    return Fault(
        what=f"'{words}' stands where hotlap's own words stand",
        where=f"command line: {words}",
        right="what the script is to get follows a bare --, after all words for hotlap",
        cure=f"-- {words}",
    )


def _no_folder(folder: Path) -> Fault:
    parent = folder.parent
    beside = [p.name for p in parent.iterdir() if p.is_dir()] if parent.is_dir() else []
    close = nearest(folder.name, beside)
    return Fault(
        what=f"there is no folder {shown(folder)}",
        where=f"command line: --config-dir {shown(folder)}",
        right=f"did you mean '{shown(parent / close)}'?" if close else "a folder with model/*.yaml",
        cure=f"--config-dir {shown(parent / close) if close else '<folder>'}",
    )


def _no_primary(session: Session) -> Fault:
    names = sorted(path.stem for folder in session.folders for path in folder.glob("*.yaml"))
    close = nearest(session.primary, names)
    return Fault(
        what=f"there is no config {session.primary}.yaml",
        where=f"command line: --config-name {session.primary}",
        right=f"did you mean '{close}'?" if close else f"one of {', '.join(names)}",
        cure=f"--config-name {close or session.kind}",
    )
