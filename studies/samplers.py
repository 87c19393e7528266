"""Samplers: who proposes the next trial. Names are those of the config group `sampler`.

`tpe` is the default: it takes mixed and conditional spaces as they are. `gp` models the noise and
the order of ranges, but only of knobs that all complete trials share: a knob that was inactive in
one of them is drawn at random, so it suits spaces without `when` (optuna.samplers.GPSampler).
`random` is the yardstick for both, `brute_force` walks a small space once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress

import optuna
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from hotlap.errors import UserInputError
from hotlap.settings import near

NAMES = ("tpe", "gp", "random", "brute_force")

GUIDED = ("tpe", "gp")
"""They learn from what descent has tried first; the others shall do what they say."""

CONSTRAINTS = "constraints"
"""User attribute of a trial: by how much it breaks each limit; 0 or less is fine."""

OVER = "over_limits"
"""The same before a baseline that is above a limit itself has raised it."""

SETS_CONSTRAINTS = hasattr(optuna.Trial, "set_constraint")
"""Optuna 5 takes constraints from the trial; earlier ones ask a function of the sampler's."""

ConstraintsOf = Callable[[FrozenTrial], Sequence[float]]


def constraints_of(trial: FrozenTrial) -> Sequence[float]:
    """By how much a trial breaks each limit (see objectives/constraints.py).

    Without limits there is one that always holds: Optuna 4's Gaussian process fails on none.
    In a study of somebody else's the limits are those that Optuna itself was told, from 5 on.
    """
    broken: Sequence[float] = trial.user_attrs.get(CONSTRAINTS, ())
    if not broken and SETS_CONSTRAINTS:
        broken = tuple(trial.constraints.values())
    return broken or (-1.0,)


def allowed(trial: FrozenTrial) -> bool:
    """Whether a trial breaks no limit: one that does cannot win, and so is nobody's rival."""
    return max(constraints_of(trial)) <= 0


def constrain(trial: optuna.Trial, violations: Sequence[float]) -> None:
    """Tell a running trial by how much it breaks each limit, the way this Optuna wants it."""
    trial.set_user_attr(CONSTRAINTS, list(violations))
    if SETS_CONSTRAINTS:
        for i, violation in enumerate(violations):
            trial.set_constraint(str(i), violation)


def make(
    name: str,
    seed: int | None = 0,
    n_startup_trials: int = 8,
    constraints_of: ConstraintsOf | None = None,
) -> BaseSampler:
    """The sampler `name`.

    Args:
        name: tpe, gp, random or brute_force.
        seed: Of its random numbers; None for another search each time.
        n_startup_trials: Until so many trials have ended, whoever proposed them (the baseline, the
            expert and descent too), tpe and gp draw at random; for gp those with a value count.
        constraints_of: What tells tpe and gp of limits, for an Optuna before 5 (see `constrain`).

    Raises:
        UserInputError: There is no sampler of this name.
    """
    if name not in NAMES:
        raise UserInputError(
            f"sampler.name: there is no sampler '{name}'{near(name, NAMES)}; "
            f"write sampler={' or sampler='.join(NAMES)}"
        )
    asks = None if SETS_CONSTRAINTS else constraints_of
    with warnings.catch_warnings():
        # Optuna marks these as experimental: their interface may change. A test makes each of
        # them, so that a change shows there and not to a user.
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        if name == "tpe":
            return optuna.samplers.TPESampler(
                n_startup_trials=n_startup_trials,
                seed=seed,
                multivariate=True,  # the best worker count flips with the thread setting
                group=True,  # one model for each set of knobs that are active together
                constraints_func=asks,
            )
        if name == "gp":
            return optuna.samplers.GPSampler(
                n_startup_trials=n_startup_trials,
                seed=seed,
                deterministic_objective=False,  # a measured rate has noise
                independent_sampler=optuna.samplers.RandomSampler(seed=seed),
                warn_independent_sampling=False,
                constraints_func=asks,
            )
        if name == "brute_force":
            return _BruteForce(seed=seed)
    return optuna.samplers.RandomSampler(seed=seed)


class _BruteForce(optuna.samplers.BruteForceSampler):
    """Optuna's, for a study that is asked and told, too: there `Study.stop` is an error.

    Whoever asks, as the search does, notices himself that all settings have been tried.
    """

    def after_trial(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Stop a study that is optimized after the last point, and leave any other to itself."""
        if not trial.params:  # it failed before it asked: Optuna would take it for the last point
            return
        with suppress(RuntimeError):
            super().after_trial(study, trial, state, values)
