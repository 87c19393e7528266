"""`train.py script=...`: a script's full run is the script itself, by `python -m hotlap run`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from hydra.core.override_parser.types import Override

from conf.fault import Fault
from conf.hand_on import run_words
from conf.words import Word, as_typed
from hotlap.programs import python


def its_full_run(override: Override, words: Sequence[str], args: Sequence[str]) -> Fault:
    """The fault of a script that is named to train.py.

    Args:
        override: `script=<path>` or `module=<name>`.
        words: All overrides, as typed.
        args: The script's arguments.
    """
    typed = [word for word in map(Word.of, words) if word is not None]
    settings = [word.value for word in typed if word.key == "settings" and word.value]
    named = f"{override.key_or_group}={override.value()}"
    run = shlex.join([python(), "-m", "hotlap", "run"])
    command = shlex.join(run_words([named, "--", *args]))
    return Fault(
        what=f"train.py trains models, and '{as_typed(override)}' names a script",
        where=f"command line: {as_typed(override)}",
        right="a script's full run is the script's own, with the settings that tune.py has frozen",
        cure=f"{run} --settings {settings[-1] if settings else 'FILE'} {command}",
        key="model",
    )
