"""Proposals: Optuna's trials for settings and settings for its trials, each value once."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import optuna
from optuna.samplers import RandomSampler
from optuna.trial import FixedTrial, FrozenTrial, TrialState, create_trial

from hotlap.settings import Settings
from studies.protocols import Space
from studies.samplers import CONSTRAINTS, constrain

DRAWS = 100
"""So many neighbours of a repeated proposal are drawn; then the grid is walked for what is left."""

LOOKED = 1000
"""So many untried settings of the grid are looked at for some that suit: a space may have tens of
millions, and each takes some time to make."""

SMALL = 500
"""In a space of at most so many settings all that is left is looked at instead. So it is where only
some of a space can be tried: what is drawn from all of it would be none of them."""


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

    def tell(
        self,
        asked: optuna.Trial | None,
        state: TrialState,
        value: float | None,
        of_blocks: Sequence[float],
        attributes: Mapping[str, Any],
    ) -> FrozenTrial:
        """Tell the sampler what came of a trial, and remember it.

        Args:
            asked: Optuna's trial; None for settings outside of the space.
            state: How it is told (see studies/outcomes.py).
            value: Its value, if it has one.
            of_blocks: The values of its blocks.
            attributes: What is kept with it; the limits' violations among it.
        """
        if asked is None:
            ended = create_trial(
                state=state,
                value=value,
                user_attrs=dict(attributes),
                intermediate_values=dict(enumerate(of_blocks)),
            )
        else:
            for step, of_block in enumerate(of_blocks):
                asked.report(of_block, step)
            for key, attribute in attributes.items():
                asked.set_user_attr(key, attribute)
            constrain(asked, attributes[CONSTRAINTS])
            ended = self._study.tell(asked, value, state)
        self.remember(ended)
        return ended

    @property
    def are_exhausted(self) -> bool:
        """Whether all settings of the space have been tried."""
        return all(self.known(settings) is not None for settings in self._space.grid())

    def next(
        self,
        suits: Callable[[Settings], bool] = lambda settings: True,
        is_over: Callable[[], bool] = lambda: False,
    ) -> tuple[Settings, optuna.Trial | None] | None:
        """The sampler's next untried settings that suit; None if none are left or soon found.

        Args:
            suits: Whether settings can be tried now.
            is_over: Whether none can be any more. It is asked once the sampler has answered, which
                takes seconds of some: then nothing else is looked for.
        """
        asked = self._study.ask()
        settings = self._space.suggest(asked)
        if is_over():
            self._study.tell(asked, state=TrialState.FAIL)
            return None
        known = self.known(settings)
        if known is None and suits(settings):
            return settings, asked
        if known is None:  # it is told nothing of them, and something else close by is taken
            self._study.tell(asked, state=TrialState.FAIL)
            return self._instead_of(asked, suits)
        # A repeat says where the sampler believes the best to be. It is told again what is known,
        # nothing is measured or recorded, and something untried close by is taken instead.
        # Asking on would cost a Gaussian process seconds for each repeat.
        constrain(asked, known.violations)
        self._study.tell(asked, known.value, known.state)
        return self._instead_of(asked, suits)

    def ask(self, settings: Settings) -> optuna.Trial | None:
        """Optuna's trial for known settings; None if they lie outside of the space."""
        params = self._space.params_of(settings)
        if not params or self._space.suggest(FixedTrial(params)).key() != settings.key():
            return None
        self._study.enqueue_trial(params)
        asked = self._study.ask()
        self._space.suggest(asked)
        return asked

    def _instead_of(
        self, asked: optuna.Trial, suits: Callable[[Settings], bool]
    ) -> tuple[Settings, optuna.Trial | None] | None:
        def is_left(settings: Settings) -> bool:
            return self.known(settings) is None and suits(settings)

        near = self._near(asked.params, is_left)
        return None if near is None else (near, self.ask(near))

    def _near(
        self, params: Mapping[str, Any], is_left: Callable[[Settings], bool]
    ) -> Settings | None:
        """Settings that differ from `params` in as few knobs as is soon found."""
        if self._space.size <= SMALL or self._space.known is not None:
            return self._nearest(params, is_left)
        names = list(params)
        for draw in range(DRAWS):
            dropped = self._random.sample(names, min(len(names), 1 + draw * len(names) // DRAWS))
            kept = {name: value for name, value in params.items() if name not in dropped}
            self._chance.enqueue_trial(kept)  # the other knobs are drawn
            settings = self._space.suggest(self._chance.ask())
            if is_left(settings):
                return settings
        untried = (s for s in self._space.grid() if self.known(s) is None)
        return next(filter(is_left, itertools.islice(untried, LOOKED)), None)

    def _nearest(
        self, params: Mapping[str, Any], is_left: Callable[[Settings], bool]
    ) -> Settings | None:
        """Of those left, of so many at the most, one with the fewest other values."""
        left = list(filter(is_left, self._space.grid()))
        self._random.shuffle(left)
        return min(left[:LOOKED], key=lambda s: self._space.distance(s, params), default=None)
