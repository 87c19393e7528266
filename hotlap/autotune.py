"""One line at a script's top: `hotlap.autotune("frozen.yaml")`.

For a script that is started in its own way. What is read when a process starts (OpenMP's waiting,
the allocator), and threads that already run, come too late then; it says so.
`python -m hotlap run` has no such limits.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING

from hotlap.frozen import load_frozen
from hotlap.interpose import Imposed, begin
from hotlap.interpose.last_words import is_helper, tell_at_end
from hotlap.machine import cpu_facts
from hotlap.notes import Note, logger

if TYPE_CHECKING:
    from hotlap.interpose.interposition import Interposition


def autotune(path: str | Path) -> None:
    """Put a frozen file in force on this script, from here on.

    A DataLoader that was made before stays as it is. Settings that come too late are logged as
    warnings; those that find nothing to be put in force on are told when the process ends. How this
    machine differs from the one that the file was frozen on is told at the first step.

    Raises:
        FrozenFileError: The file cannot be read; all mistakes at once, each with its line.
    """
    frozen = load_frozen(path)
    imposed = Imposed.of_frozen(frozen)
    cpu = cpu_facts()
    said: list[Note] = []
    late, helps = "torch" in sys.modules, is_helper()

    def tell_late(interposition: Interposition) -> None:
        from hotlap.interpose.first_step import tell_elsewhere  # imports torch

        tell_elsewhere(frozen, imposed, cpu)
        if late:
            interposition.take_up()
        if helps:  # a worker that imports the script anew: told at its end, if it trains
            return
        said.extend(interposition.notes)
        for note in said:
            logger.warning("hotlap: %s comes too late: %s", note["setting"], note["reason"])

    # Other ranks of the script have this very line in them.
    if begin(imposed, tell_late, alone=False, watch=False):
        tell_at_end(imposed, [], path, said)
    elif not helps:
        logger.warning(
            "hotlap: autotune(%s) does nothing: settings are in force in this process already", path
        )


class _CallableModule(types.ModuleType):
    """This module can be called: `hotlap.autotune` is it and, by the contract, a function too."""

    def __call__(self, path: str | Path) -> None:
        return autotune(path)


sys.modules[__name__].__class__ = _CallableModule
