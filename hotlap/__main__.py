"""The full run of somebody's own script with frozen settings.

    python -m hotlap run --settings frozen.yaml train.py --epochs 90 --lr 0.1
    python -m hotlap run --settings frozen.yaml -m package.train --epochs 90

All that follows the script's name is the script's, as typed. No torch here: the script imports it
when it wants to.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hotlap.environment import VARIABLES
from hotlap.errors import UserInputError
from hotlap.frozen import load_frozen
from hotlap.interpose import Imposed, begin
from hotlap.interpose.anew import ADVICE, hear_anew
from hotlap.interpose.last_words import tell_at_end
from hotlap.interpose.launch import Script, found, launch
from hotlap.interpose.restart import missing, restart
from hotlap.interpose.say import say
from hotlap.machine import cpu_facts
from hotlap.notes import Note

if TYPE_CHECKING:
    from hotlap.interpose.interposition import Interposition

USAGE = """\
usage: python -m hotlap run --settings FROZEN.yaml SCRIPT [ARGUMENTS OF THE SCRIPT]
       python -m hotlap run --settings FROZEN.yaml -m PACKAGE.MODULE [ITS ARGUMENTS]

SCRIPT is a path or an installed console script's name. A bare `--` before it is allowed."""

INHERITED = frozenset((*VARIABLES, "intraop_threads"))
"""Settings that are variables of the environment, which a program has that a script becomes."""

WRONG_INPUT = 2


def parse(words: list[str]) -> tuple[str, Script]:
    """The settings file and the script of a command line, without the program's own name.

    Raises:
        UserInputError: The words are not as USAGE says.
    """
    if words[:1] != ["run"]:
        raise UserInputError(f"the only command is `run`\n{USAGE}")
    rest = words[1:]
    settings: str | None = None
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "--"):
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name != "--settings":
            raise UserInputError(
                f"{word} is no option of `hotlap run`; the script's own options follow its name"
                f"\n{USAGE}"
            )
        if not equals:
            if not rest:
                raise UserInputError(f"--settings needs a file after it\n{USAGE}")
            value = rest.pop(0)
        settings = value
    if rest[:1] == ["--"]:
        rest = rest[1:]
    if settings is None:
        raise UserInputError(f"--settings is missing: the frozen file to run with\n{USAGE}")
    if rest[:1] == ["-m"] and len(rest) > 1:
        return settings, Script(rest[1], True, rest[2:])
    if not rest or rest == ["-m"]:
        raise UserInputError(f"the script is missing\n{USAGE}")
    return settings, Script(found(rest[0]), False, rest[1:])


def run(words: list[str]) -> None:
    """Do what the command line says; returns when the script's last line is done.

    Raises:
        UserInputError: The command line or the settings file is wrong.
    """
    path, script = parse(words)
    frozen = load_frozen(path)
    imposed = Imposed.of_frozen(frozen)
    notes: list[Note] = []
    restart(missing(imposed, notes), notes)
    cpu = cpu_facts()

    def installed(_: Interposition) -> None:
        from hotlap.interpose.first_step import tell_elsewhere  # imports torch

        tell_elsewhere(frozen, imposed, cpu)

    begin(imposed, installed, watch=False)
    if lost := imposed.names - INHERITED:
        but = "" if lost == imposed.names else " but its environment variables"
        hear_anew(
            lambda program: say(
                f"the script becomes {program} now (os.exec), where nothing of {path}{but} is in "
                f"force: {ADVICE}, or put hotlap.autotune at its top"
            )
        )
    launch(script, lambda: tell_at_end(imposed, notes, path))


def main() -> None:
    """Run, and exit with 2 and a sentence if the input is wrong."""
    if sys.argv[1:2] in (["-h"], ["--help"]) or sys.argv[1:3] in (["run", "-h"], ["run", "--help"]):
        print(USAGE)
        return
    try:
        run(sys.argv[1:])
    except UserInputError as error:
        print(f"hotlap: {error}", file=sys.stderr)
        sys.exit(WRONG_INPUT)


if __name__ == "__main__":
    main()
