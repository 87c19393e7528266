"""Ledger: the study in SQLite, beside the one in memory that sampler and pruner work with.

A trial is written once, when it has ended, in one transaction. So a killed tuner leaves no trial
that seems to run for ever, and no write falls into a timed window.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial

from hotlap.errors import UserInputError

FILE = "study.db"


class Ledger:
    """One study, kept in `folder/study.db`.

    Args:
        folder: The study's folder.
        name: The study's name.
        direction: "maximize" or "minimize".
        sampler: Who proposes.
        pruner: Who stops early.
        fingerprint: Of workload and search space; two that differ cannot share a study.

    Raises:
        UserInputError: The folder holds a study of another workload or search space.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        direction: Literal["maximize", "minimize"],
        sampler: BaseSampler,
        pruner: BasePruner,
        fingerprint: str,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._stored = optuna.create_study(
            storage=f"sqlite:///{folder.absolute() / FILE}",
            study_name=name,
            direction=direction,
            load_if_exists=True,
        )
        before = self._stored.user_attrs.get("fingerprint", fingerprint)
        if before != fingerprint:
            raise UserInputError(
                f"the study in {folder} searched another space or workload than this one asks "
                "for, and the two cannot be mixed; leave out resume= to start a new study"
            )
        self._stored.set_user_attr("fingerprint", fingerprint)
        self.study = optuna.create_study(direction=direction, sampler=sampler, pruner=pruner)
        self.study.add_trials(self._stored.get_trials(deepcopy=False))

    @property
    def trials(self) -> list[FrozenTrial]:
        """The trials that have ended, from earlier sessions too."""
        return [t for t in self.study.get_trials(deepcopy=False) if t.state.is_finished()]

    def record(self, number: int) -> None:
        """Write the trial `number`, which has just been told, to SQLite."""
        self._stored.add_trial(self.study.get_trials(deepcopy=False)[number])

    def note(self, key: str, value: Any) -> None:
        """Keep a fact about the study."""
        self._stored.set_user_attr(key, value)
