"""Ledger: the study in SQLite, beside the ones in memory that sampler and pruner work with.

A trial is written once, when it has ended, in one transaction. So a killed tuner leaves no trial
that seems to run for ever, and no write falls into a timed window.

The sampler sees trials of the space only (settings outside of it have no parameters that it could
learn from; the Gaussian process would even lose the parameters that all trials share), and the
repeats, which are told again but not measured. The pruner and the file see what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy import URL
from sqlalchemy.exc import DatabaseError

from hotlap.errors import UserInputError
from hotlap.settings import Settings
from studies.racing import RacingPruner

FILE = "study.db"
IDENTITY = "identity"
"""Attribute of the study: what two sessions must have in common to share it."""
LEVEL = "baseline_level"
"""Attribute of the study: the first session's (see studies/anchor.py)."""


class Ledger:
    """One study, kept in `folder/study.db`.

    Args:
        folder: The study's folder.
        name: The study's name.
        direction: "maximize" or "minimize".
        sampler: Who proposes.
        pruner: Who stops early.
        identity: What two sessions must have in common to share a study, as plain data by the
            name that a user knows it by: the workload, its arguments, each knob's choices.
        in_memory: Keep no file, as for hundreds of replayed studies that nobody resumes.

    Raises:
        UserInputError: The folder holds a study of another workload or search space, or a file
            that is no study.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        direction: str,
        sampler: BaseSampler,
        pruner: BasePruner,
        identity: Mapping[str, Any],
        in_memory: bool = False,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        better = StudyDirection[direction.upper()]
        self._stored = optuna.create_study(
            storage=None if in_memory else _storage(folder),
            study_name=name,
            direction=better,
            load_if_exists=True,
        )
        wanted = _plain(identity)
        if IDENTITY not in self._stored.user_attrs:
            self._stored.set_user_attr(IDENTITY, wanted)
        _refuse_another(folder, self._stored.user_attrs[IDENTITY], wanted)
        self.study = optuna.create_study(direction=better, sampler=sampler)
        self._races = optuna.create_study(direction=better, pruner=pruner)
        self.trials = list(self._stored.get_trials(deepcopy=False))
        self._races.add_trials(self.trials)
        self.study.add_trials([trial for trial in self.trials if trial.params])
        if self.trials:
            # With its seed of the first session it would draw the same settings again.
            sampler.reseed_rng()

    def record(self, trial: FrozenTrial) -> None:
        """Keep a trial that has ended, in memory and in SQLite."""
        self.trials.append(trial)
        self._races.add_trial(trial)
        self._stored.add_trial(trial)

    def noted(self, name: str, settings: Settings) -> Any:
        """What is kept under `name` of the last trial of these settings, any session's; or None."""
        noted = (trial.user_attrs.get(name) for trial in self.of(settings))
        return next((value for value in noted if value is not None), None)

    def of(self, settings: Settings) -> Iterator[FrozenTrial]:
        """The trials of these settings, any session's, the last one first."""
        for trial in reversed(self.trials):
            if Settings.from_dict(trial.user_attrs["settings"]).key() == settings.key():
                yield trial

    def first_level(self, new: float) -> float:
        """The baseline's level that the values of all sessions are scaled to, a logarithm.

        Args:
            new: What it is if there is none yet.
        """
        if LEVEL not in self._stored.user_attrs:
            self._stored.set_user_attr(LEVEL, new)
        level: float = self._stored.user_attrs[LEVEL]
        return level

    def expect_noise(self, spread: float, degrees: float) -> None:
        """Tell the pruner how much processes differ that run the same.

        Args:
            spread: Relative standard deviation; 0.02 is 2 %.
            degrees: Degrees of freedom that it was estimated with.
        """
        if isinstance(self._races.pruner, RacingPruner):
            self._races.pruner.process_noise = spread
            self._races.pruner.noise_degrees = degrees

    def has_lost(self, rates: Sequence[float]) -> bool:
        """Whether the pruner would stop a trial whose blocks had these `rates` so far."""
        so_far = create_trial(state=TrialState.RUNNING, intermediate_values=dict(enumerate(rates)))
        return self._races.pruner.prune(self._races, so_far)


def study_name(folder: Path, new: str) -> str:
    """The name of the study in `folder`, which may have been renamed or copied; else `new`."""
    if not (folder / FILE).exists():
        return new
    names = optuna.get_all_study_names(_storage(folder))
    return names[0] if names else new


def _storage(folder: Path) -> optuna.storages.RDBStorage:
    # Built, not written: a `?` in the path would begin the URL's query.
    path = folder.absolute() / FILE
    url = URL.create("sqlite", database=str(path)).render_as_string()
    try:
        return optuna.storages.RDBStorage(url)
    except DatabaseError as error:
        raise UserInputError(
            f"{path} cannot be read as a study: {error.orig}; its raw measurements are in "
            f"{folder / 'trials'}; leave out resume= to start a new study"
        ) from None


def _plain(identity: Mapping[str, Any]) -> dict[str, str]:
    """Everything as text: JSON would make lists of tuples, and so a difference where none is."""
    return {name: str(value) for name, value in identity.items()}


def _refuse_another(folder: Path, before: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    differing = [name for name in {**before, **wanted} if before.get(name) != wanted.get(name)]
    if differing:
        changes = "; ".join(
            f"{name} was {before.get(name, 'not there')} and is {wanted.get(name, 'not there')}"
            for name in differing
        )
        raise UserInputError(
            f"the study in {folder} is another one, and trials of the two cannot be mixed: "
            f"{changes}. Go on with what it had before, or leave out resume= to start a new study"
        )
