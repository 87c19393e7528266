"""What to type next: the words of tune.py's command line that the full run needs too."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conf.duration import MOST_S, seconds
from conf.schema import TuneConfig
from hotlap.hidden import hidden
from hotlap.programs import python
from hotlap.settings import Settings
from hotlap.spoken import typed

SHARED = ("model", "data", "device", "seed", "runner", "tracking", "bank", "import_path")
"""Keys and groups that tune.py and train.py share."""

OF_SCRIPTS = ("override", "scratch", "seed", "runner", "tracking", "bank")
"""Keys and groups that begin such a study of a script, beside its own words."""


def shared_words(words: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """The overrides in `words` that train.py takes as well, after the user's config folder.

    Args:
        words: The overrides of one study.
        folders: Where config files are looked for, ours first.
    """
    flags = [word for folder in folders[1:] for word in ("--config-dir", str(folder))]
    return [*flags, *_of(SHARED, words), *_epochs(words)]


def script_words(words: Sequence[str], key: str, value: str, args: Sequence[str]) -> list[str]:
    """The words that begin such a study of a script anew, its arguments last.

    Args:
        words: The overrides of one study.
        key: `script` or `module`.
        value: The script as typed.
        args: Its arguments.
    """
    return [*_of(OF_SCRIPTS, words), f"{key}={value}", *(["--", *args] if args else [])]


def script_run(config: TuneConfig, settings: Path) -> str | None:
    """The command of the script's full run with frozen `settings`; None if a model was tuned.

    It starts in the folder in which the study began, wherever one is now. Of a study on a table
    it is made from the words that the table keeps.
    """
    command = run_words(config.words)
    if not command:
        return None
    away = bool(config.cwd) and config.cwd != os.getcwd()
    file = settings.resolve() if away else settings
    words = [python(anywhere=away), "-m", "hotlap", "run", "--settings", str(file), *command]
    run = shlex.join(words)
    return f"cd {shlex.quote(config.cwd)} && {run}" if away else run


def script_origin(config: TuneConfig, own: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """What a frozen file says of the script it was tuned for, and its full run reads.

    Args:
        config: The study's.
        own: Settings as the script has them by itself.
        settings: Those that are frozen.
    """
    origin: dict[str, Any] = {"script": shlex.join(run_words(config.words))}
    if config.override:
        origin["override"] = list(config.override)
    # What the user wants in the baseline was imposed on every trial, where it is not the script's.
    wanted = {name: value for name, value in config.settings.items() if value != own.get(name)}
    if imposed := [name for name in wanted if name in settings.to_dict()]:
        origin["imposed"] = imposed
    return origin


def go_on_with(folder: Path) -> str:
    """The command that goes on with the study in `folder`."""
    return shlex.join([python(), sys.argv[0], f"resume={folder}"])


def begin_with(config: TuneConfig, record: str = "") -> str:
    """The command that starts such a study anew, in the folder in which this one began.

    Args:
        config: Its own.
        record: What to type instead of its `record=`; empty: as it was typed.
    """
    words = list(config.words or ["+model=<name>"])
    if record:
        words = [*(word for word in words if not word.startswith("record=")), record]
    return shlex.join([python(), sys.argv[0], *words])


def run_goes_on_with(folder: Path, words: Sequence[str] = ()) -> str:
    """The command that goes on with the full run in `folder`.

    Args:
        folder: The full run's.
        words: What was typed for a session that went on itself: the folder keeps only the words of
            the first one.
    """
    more = [hidden(w) for w in words if w.lstrip("+").partition("=")[0] != "resume"]
    return shlex.join([python(), sys.argv[0], f"resume={folder}", *more])


def next_commands(
    config: TuneConfig,
    folder: Path,
    settings: Path,
    look: str,
    would_do: str = "",
    in_force: bool = True,
) -> dict[str, str]:
    """What to type after a study: what for -> command.

    Args:
        config: The study's.
        folder: Where it lies.
        settings: What it has frozen.
        look: How to look at its trials; empty if there is nothing to look at.
        would_do: A budget that is known to be long enough, as typed; empty for twice the last one.
        in_force: Whether what it has frozen puts anything in force on a script: what was proven,
            or what the user has typed. A script for which it does not has no full run but its own.
    """
    words = shlex.join(config.words) or "+model=<name>"  # a table need not know them
    full_run = script_run(config, settings)
    if full_run is None:
        train = Path(sys.argv[0]).with_name("train.py")
        begin = shlex.join([python(), str(train)])
        full_run = f"{begin} {words} {shlex.quote(f'settings={settings}')}"
    more = " n_trials=null" if config.n_trials else ""
    twice_s = min(2 * seconds(config.budget), MOST_S)
    longer = would_do or f"{typed(round(twice_s, 3))}s"
    commands = {"full run": full_run} if in_force or not run_words(config.words) else {}
    commands["go on with more time"] = f"{go_on_with(folder)} budget={longer}{more}"
    if look:
        commands["compare the trials"] = look
    return commands


def run_words(words: Sequence[str]) -> list[str]:
    """What `python -m hotlap run --settings FILE` takes of `words`; empty without a script."""
    words = list(words)
    end = words.index("--") if "--" in words else len(words)
    args = words[end + 1 :]
    for key, _, value in (word.partition("=") for word in words[:end]):
        if key == "module":
            return ["-m", value, *args]
        if key == "script":
            return [*(["--"] if value.startswith("-") else []), value, *args]
    return []


def _of(keys: Sequence[str], words: Sequence[str]) -> list[str]:
    """Those of `keys`, as they may be shown and kept: a tracking server's password is a secret."""
    named = [(w.partition("=")[0].lstrip("+~").partition(".")[0], w) for w in words]
    return [hidden(w) if key == "tracking" else w for key, w in named if key in keys]


def _epochs(words: Sequence[str]) -> list[str]:
    """`run.epochs=90` as train.py takes it, which trains for whole epochs."""
    given = [word.partition("=")[2] for word in words if word.startswith("run.epochs=")]
    return [f"epochs={value}" for value in given[-1:] if value.isdecimal() and int(value) > 0]
