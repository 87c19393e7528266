"""A script of one's own as the thing to tune: what follows from how it was named."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf

from conf.fault import Fault
from conf.hand_on import script_words
from conf.literal import literal
from conf.sources import Sources
from conf.words import RAW, quoted
from hotlap.errors import UserInputError
from hotlap.interpose.launch import found
from hotlap.settings import Settings


def complete(
    config: DictConfig, args: Sequence[str], words: Sequence[str], sources: Sources
) -> list[Fault]:
    """Fill in where the script lies and runs, its arguments, its name, and how it was asked for.

    Args:
        config: A study's or a full run's.
        args: What followed a bare `--`.
        words: The overrides of the study.
        sources: Where they are from.

    Returns:
        What is wrong with `args`; the script itself is looked at by conf/check_script.py.
    """
    key = next((key for key in RAW if config.get(key) is not None), None)
    if key is None:
        return [no_script(args, sources.program, config.model is None)] if args else []
    goes_on = bool(config.cwd) and config.resume is not None
    # Not by iterating: a list with the word ??? in it would refuse, as if a value were missing.
    before = OmegaConf.to_container(config.script_args, resolve=True)
    if goes_on:
        begun = OmegaConf.to_container(config.words, resolve=True)
        return [_other_args(args, before, begun)] if args and list(args) != before else []
    args = args or before
    config.script_args = literal(args)
    typed = str(config[key])
    config.name = config.name or literal(_name(key, typed))
    config.words = literal(script_words(words, key, typed, args))
    config.cwd = literal(os.getcwd())
    config.settings = _wanted(config, words)
    if key == "script":
        config.script = literal(_absolute(typed))
    return []


def _wanted(config: DictConfig, words: Sequence[str]) -> dict[str, Any]:
    """The settings that the user wants in the script's baseline; all others are as it has them.

    Those of the command line, and those of a file that differ from PyTorch's default or that its
    provenance lists, as its full run has them (hotlap/interpose/imposed.py).
    """
    named = {word.partition("=")[0].lstrip("+").removeprefix("settings.") for word in words}
    for key in ("tuned", "imposed"):
        listed = config.provenance.get(key)
        named |= {str(name) for name in listed} if isinstance(listed, ListConfig) else set()
    values: dict[str, Any] = OmegaConf.to_container(config.settings, resolve=True)  # type: ignore[assignment]
    default = asdict(Settings())
    return {k: v for k, v in values.items() if k in named or k not in default or v != default[k]}


def in_hydras_words(args: Sequence[str]) -> str:
    """The override that says `args` to Hydra itself."""
    return f"script_args=[{','.join(quoted(literal(arg)) for arg in args)}]"


def no_script(args: Sequence[str], program: str, no_model: bool) -> Fault:
    """The fault of arguments after `--` where no script is named that could take them."""
    words = shlex.join(args)
    ours = program == "python tune.py"
    return Fault(
        what=f"'{words}' follows a bare --, where a script's own arguments stand, and no script is "
        "named",
        where=f"command line: -- {words}",
        right="a script and its arguments; a workload's arguments are keys of `model`, before any "
        "--",
        cure=f"{program} script=<your script> -- {words}"
        if ours and no_model
        else f"{program} +model=<name> model.<argument>=<value>",
        key="model" if no_model else "script_args",
    )


def _other_args(args: Sequence[str], before: Sequence[str], begun: Sequence[str]) -> Fault:
    words = shlex.join(args)
    begun_with = f"with '{shlex.join(before)}'" if before else "without any"
    ours = list(begun[: begun.index("--")] if "--" in begun else begun)
    anew = shlex.join([*ours, "--", *args])
    return Fault(
        what=f"'{words}' would change the script's arguments; the study was begun {begun_with}",
        where=f"command line: -- {words}",
        right="the arguments of its first session, which need not be typed again; others are a new "
        "study",
        cure=f"resume=<the folder> alone, or {anew} for a new study",
        key="script_args",
    )


def _name(key: str, typed: str) -> str:
    """What the study is called: a file's stem, a program's name, a module's last part."""
    if key == "module":
        parts = [part for part in typed.split(".") if part != "__main__"]
        return parts[-1] if parts else typed
    path = Path(typed)
    if path.name == "__main__.py":
        path = path.absolute().parent
    return path.stem if path.suffix in (".py", ".pyw") else path.name


def _absolute(typed: str) -> str:
    """The path of the file that is meant, as Python makes one absolute; as typed if none is."""
    for word in dict.fromkeys((typed, os.path.expanduser(typed))):
        try:
            return os.path.join(os.getcwd(), re.sub(r"^(\./+)+", "", found(word)))
        except UserInputError:
            continue
    return typed
