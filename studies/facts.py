"""Facts: what a study's first session was told of machine and workload, kept for later ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hotlap.errors import UserInputError
from hotlap.job import write_text

FACTS = "facts.json"


def knows_facts(folder: Path) -> bool:
    """Whether an earlier session has kept the facts in the study's folder."""
    return (folder / FACTS).exists()


def known_facts(folder: Path, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The facts kept in the study's folder, or the answer of `ask`, which is then kept.

    A resumed study keeps its facts: ranges come from them, and measured anew they could differ.
    Whether the workload is still the same is asked all the same (studies/same_workload.py).
    """
    path = folder / FACTS
    if not path.exists():
        write_text(path, json.dumps(ask(), indent=1))
    try:
        facts: dict[str, Any] = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise UserInputError(
            f"{path} is damaged ({error}); remove it, and the facts are asked for anew"
        ) from None
    return facts
