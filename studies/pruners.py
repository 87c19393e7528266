"""Pruners: who stops a trial early. Names are those of the config group `pruner`."""

from __future__ import annotations

from optuna.pruners import BasePruner, NopPruner

from hotlap.errors import UserInputError
from hotlap.settings import near
from studies.racing import RacingPruner

NAMES = ("racing", "none")


def make(name: str, error: float = 0.05) -> BasePruner:
    """The pruner `name`; `error` is racing's error probability.

    Raises:
        UserInputError: There is no pruner of this name.
    """
    if name not in NAMES:
        raise UserInputError(
            f"pruner.name: there is no pruner '{name}'{near(name, NAMES)}; "
            f"write pruner={' or pruner='.join(NAMES)}"
        )
    return RacingPruner(error) if name == "racing" else NopPruner()
