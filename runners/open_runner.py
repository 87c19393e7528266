"""Runner by the name that the config gives it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hotlap.errors import UserInputError
from hotlap.settings import near
from runners.process import ProcessRunner
from runners.replay import ReplayRunner
from runners.table import Table

NAMES = ("process", "replay")


def open_runner(
    name: str, preload: Sequence[str] = (), table: str | None = None, seed: int = 0
) -> ProcessRunner | ReplayRunner:
    """The runner `name`.

    Args:
        name: process or replay.
        preload: Modules that the servers of `process` import beforehand.
        table: The recorded table of `replay`.
        seed: Of the noise in a replay.

    Raises:
        UserInputError: There is no runner of this name, or its table is none.
    """
    if name == "process":
        return ProcessRunner(preload, compiles_anew=True)
    if name == "replay" and table:
        return ReplayRunner(Table.read(Path(table)), seed)
    if name == "replay":
        raise UserInputError("runner.table is not set; write runner.table=<a recorded table>")
    raise UserInputError(
        f"runner.name: there is no runner '{name}'{near(name, NAMES)}; "
        f"write runner={' or runner='.join(NAMES)}"
    )
