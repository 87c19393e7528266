"""`settings=path/to/frozen.yaml`: a frozen file as if it were an option of the group."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conf.fault import Fault
from conf.words import quoted
from hotlap.errors import UserInputError
from hotlap.frozen import load_frozen


@dataclass(frozen=True)
class Expanded:
    """Overrides in which the frozen file has become single settings.

    Attributes:
        words: The overrides; the file's settings come first, so that any other one wins.
        path: The frozen file, None if there is none.
        provenance: What it says about its origin.
        faults: Why it cannot be read.
    """

    words: list[str]
    path: Path | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


def is_path(value: object) -> bool:
    """True if the value of `settings=` is a file and not an option's name."""
    return isinstance(value, str) and (os.sep in value or value.endswith((".yaml", ".yml")))


def expand(words: Sequence[str], value: object) -> Expanded:
    """`words` with `settings=<value>` replaced by what the frozen file says."""
    rest = [word for word in words if word.partition("=")[0].lstrip("+") != "settings"]
    if not is_path(value):
        return Expanded(list(words))
    path = Path(str(value)).expanduser()
    try:
        frozen = load_frozen(path)
    except (UserInputError, OSError) as error:
        fault = Fault(
            what=str(error),
            where=f"command line: settings={value}",
            right="a settings file as tune.py freezes it",
            cure="settings=<path to frozen.yaml>",
            key="settings",
        )
        return Expanded(rest, faults=(fault,))
    chosen = [f"++settings.{k}={_literal(v)}" for k, v in asdict(frozen.settings).items()]
    words = ["settings=default", *chosen, *rest]
    return Expanded(words, path.resolve(), dict(frozen.provenance))


def _literal(value: object) -> str:
    """A setting's value in Hydra's grammar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else str(value)
