"""Proposals: Optuna's trials for settings and settings for its trials, each value once."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, NamedTuple

import optuna
from optuna.samplers import RandomSampler
from optuna.trial import FixedTrial, FrozenTrial, TrialState

from hotlap.settings import Settings
from studies.protocols import Space
from studies.samplers import CONSTRAINTS, constrain

DRAWS = 100
"""So many neighbours of a repeated proposal are drawn; then the grid is walked for what is left."""


SMALL = 500
"""In a space of at most so many settings all that is left is looked at instead."""


class Told(NamedTuple):
    """What Optuna was told of a trial."""

    state: TrialState
    value: float | None
    violations: list[float]


class Proposals:
    """What the sampler proposes, and what has been tried.

    Args:
        study: Optuna's study, in memory.
        space: The active search space.
        seed: Of the random neighbours.
    """

    def __init__(self, study: optuna.Study, space: Space, seed: int) -> None:
        self._study = study
        self._space = space
        self._random = random.Random(seed)
        self._chance = optuna.create_study(sampler=RandomSampler(seed=seed))
        self._seen: dict[object, Told] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def known(self, settings: Settings) -> Told | None:
        """What was told of these settings; None if they have not been tried."""
        return self._seen.get(settings.key())

    def remember(self, trial: FrozenTrial) -> None:
        """A trial has ended."""
        settings = Settings.from_dict(trial.user_attrs["settings"])
        violations = trial.user_attrs[CONSTRAINTS]
        self._seen[settings.key()] = Told(trial.state, trial.value, violations)

    def next(self) -> tuple[Settings, optuna.Trial | None] | None:
        """The sampler's next untried settings; None if all have been tried."""
        asked = self._study.ask()
        settings = self._space.suggest(asked)
        known = self.known(settings)
        if known is None:
            return settings, asked
        # A repeat says where the sampler believes the best to be. It is told again what is known,
        # nothing is measured or recorded, and something untried close by is taken instead.
        # Asking on would cost a Gaussian process seconds for each repeat.
        constrain(asked, known.violations)
        self._study.tell(asked, known.value, known.state)
        untried = self._untried(asked.params)
        return None if untried is None else (untried, self.ask(untried))

    def ask(self, settings: Settings) -> optuna.Trial | None:
        """Optuna's trial for known settings; None if they lie outside of the space."""
        params = self._space.params_of(settings)
        if not params or self._space.suggest(FixedTrial(params)).key() != settings.key():
            return None
        self._study.enqueue_trial(params)
        asked = self._study.ask()
        self._space.suggest(asked)
        return asked

    def _untried(self, params: Mapping[str, Any]) -> Settings | None:
        """Untried settings that differ from `params` in as few knobs as is soon found."""
        if self._space.size <= SMALL:
            return self._nearest(params)
        names = list(params)
        for draw in range(DRAWS):
            dropped = self._random.sample(names, min(len(names), 1 + draw * len(names) // DRAWS))
            kept = {name: value for name, value in params.items() if name not in dropped}
            self._chance.enqueue_trial(kept)  # the other knobs are drawn
            settings = self._space.suggest(self._chance.ask())
            if self.known(settings) is None:
                return settings
        return next((s for s in self._space.grid() if self.known(s) is None), None)

    def _nearest(self, params: Mapping[str, Any]) -> Settings | None:
        """Of all untried settings the one with the fewest other values; any of several."""
        untried = [s for s in self._space.grid() if self.known(s) is None]
        self._random.shuffle(untried)
        return min(untried, key=lambda s: self._distance(s, params), default=None)

    def _distance(self, settings: Settings, params: Mapping[str, Any]) -> int:
        theirs = self._space.params_of(settings)
        return sum(theirs.get(name) != params.get(name) for name in {**theirs, **params})
