"""DescentSampler: descent, and after it another sampler, in anybody's Optuna study.

    study = optuna.create_study(direction="maximize", sampler=DescentSampler())
    study.optimize(objective, n_trials=50)

The descent is the one that tune.py searches with (studies/descent.py), on knobs of any name. There
it is asked by a search that knows the clock and the machine as well; here Optuna asks.

Nothing of the walk is kept between two trials. What has been walked follows from the study's trials
alone: the walk is repeated as far as its proposals are known, and the first that is not is the next
trial. So nothing has to be done for a study that goes on, for other trials in it (enqueued ones,
another sampler's), for several threads, or for several processes on one storage. What was tried
ahead of the others' results is asked again of what they made the best. Only who ask at the very
same time may be given the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import copy
from types import SimpleNamespace
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from studies.descent import LOADER, Descent, Sides
from studies.samplers import allowed, make

WAITS = "data_wait_share"
"""User attribute of a trial: the share of its time, 0..1, that it waited for data."""


class DescentSampler(BaseSampler):
    """Proposes the baseline, the expert, one-knob changes of the best, then what another one does.

    Walked are categorical knobs. A number that is drawn from a range is as the best trial has it
    meanwhile, and the other sampler's later on. A trial that failed or was pruned has lost.

    Args:
        baseline: The first trial's values by name. A knob that is not among them begins with its
            first choice, in whatever trial it is met.
        expert: What the second trial changes of that; None for no such trial. Whatever else is
            known to be good may be enqueued (`Study.enqueue_trial`).
        order: Knobs that are likely to pay, first of all; the others as they are suggested.
        loader: Knobs that bring data to what computes. They come first as long as the best trial
            waits for data, if the objective sets the attribute `data_wait_share`; if it does not,
            they are knobs as any other.
        then: Who proposes when each value has had its turn; None for TPE as tune.py has it.
        seed: That TPE's; None for another one each time, as several processes on one study need.
    """

    def __init__(
        self,
        baseline: Mapping[str, Any] | None = None,
        expert: Mapping[str, Any] | None = None,
        order: Sequence[str] = (),
        loader: Sequence[str] = LOADER,
        then: BaseSampler | None = None,
        seed: int | None = None,
    ) -> None:
        self._baseline = dict(baseline or {})
        self._starts = [self._baseline]
        if expert is not None:
            self._starts.append({**self._baseline, **expert})
        self._order = list(order)
        self._loader = loader
        self._then = make("tpe", seed) if then is None else then
        self._was_asked = False

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """All that any other trial was asked for."""
        return {n: d for other in _others(study, trial) for n, d in other.distributions.items()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Values of the next point; none for the first trial, which shows what knobs there are."""
        others = _others(study, trial)
        if not others:
            return {}
        values = self._next(others, study.direction, search_space)
        if values is None:
            space = self._then.infer_relative_search_space(study, trial)
            values = self._then.sample_relative(study, trial, space)
        return {name: value for name, value in values.items() if name in search_space}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """The baseline's value of a knob that no trial has met before; else the other sampler's."""
        if not any(param_name in other.params for other in _others(study, trial)):
            if isinstance(param_distribution, CategoricalDistribution):
                return _chosen(self._baseline, param_name, param_distribution.choices)
            if param_name in self._baseline:
                return _in_range(self._baseline[param_name], param_name, param_distribution)
        return self._then.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """As the other sampler does."""
        self._then.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """As the other sampler does, with another seed in a study that has trials already.

        With its own it would draw again what an earlier session, or another process, has drawn.
        """
        if not self._was_asked and _others(study, trial):
            self._then.reseed_rng()
        self._was_asked = True
        self._then.before_trial(study, trial)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """As the other sampler does."""
        self._then.after_trial(study, trial, state, values)

    def _next(
        self,
        trials: Sequence[FrozenTrial],
        direction: StudyDirection,
        knobs: Mapping[str, BaseDistribution],
    ) -> dict[str, Any] | None:
        """The next point's values by name; None where descent has nothing (more) to propose."""
        space = _Seen(trials, self._baseline, self._order)
        for start in self._starts:
            if not space.trials_at(values := {**start, **vars(space.point(start))}):
                for name in knobs.keys() & start.keys():
                    _in_range(start[name], name, knobs[name])
                return values
        sign = -1 if direction == StudyDirection.MINIMIZE else 1
        descent: Descent[SimpleNamespace] | None = None
        best: FrozenTrial | None = None
        point: SimpleNamespace | None = None
        for trial in trials:
            if not _beats(trial, best, sign):
                continue
            best = trial
            descent = descent or self._descent(space, best)
            while True:
                ahead = copy(descent)
                point = ahead.propose(space.point(best.params))
                if point is None or not (known := space.trials_at(vars(point))):
                    break  # so far it is known; a later trial may be better, whoever proposed it
                descent = ahead
                best = next((t for t in known if _beats(t, best, sign)), best)
        return None if best is None or point is None else {**best.params, **vars(point)}

    def _descent(self, space: _Seen, first: FrozenTrial) -> Descent[SimpleNamespace]:
        names = tuple(space.choices)
        tells = WAITS in first.user_attrs
        loader = tuple(name for name in names if name in self._loader and tells)
        compute = tuple(name for name in names if name not in loader)
        return Descent(
            space,
            first.user_attrs.get(WAITS, 0.0),
            space.waits_of,
            baseline=space.point(self._baseline),
            expert=space.point(self._starts[-1]),
            sides=Sides(loader, compute, compute),
        )


class _Seen:
    """The space as the trials have shown it: each point has a value for every knob.

    Knobs that a point's trial was not asked for have the baseline's there, and are not varied.

    Args:
        trials: All that have been asked for something.
        baseline: Its values by name, as far as they are given.
        order: Names of knobs that come first.
    """

    def __init__(
        self, trials: Sequence[FrozenTrial], baseline: Mapping[str, Any], order: list[str]
    ) -> None:
        self._trials = trials
        self._baseline = baseline
        choices = {
            name: knob.choices
            for trial in trials
            for name, knob in trial.distributions.items()
            if isinstance(knob, CategoricalDistribution)
            and all(isinstance(choice, Hashable) for choice in knob.choices)
        }
        first = [name for name in order if name in choices]
        self.choices = {name: choices[name] for name in dict.fromkeys([*first, *choices])}

    def point(self, values: Mapping[str, Any]) -> SimpleNamespace:
        """The point with these values, and the baseline's for the other knobs."""
        given = {**self._baseline, **values}
        return SimpleNamespace(**{n: _chosen(given, n, c) for n, c in self.choices.items()})

    def trials_at(self, values: Mapping[str, Any]) -> list[FrozenTrial]:
        """Those that had these values, as far as they were asked for them."""
        return [t for t in self._trials if all(values.get(n, v) == v for n, v in t.params.items())]

    def waits_of(self, point: SimpleNamespace) -> float | None:
        """The share of its time that a trial there waited for data, if it told."""
        told = (trial.user_attrs.get(WAITS) for trial in self.trials_at(vars(point)))
        return next((share for share in told if share is not None), None)

    def neighbours(self, point: SimpleNamespace, /) -> Iterator[tuple[str, Any, SimpleNamespace]]:
        """Points that differ in one of the knobs that mean something at `point`."""
        asked = {name for trial in self.trials_at(vars(point)) for name in trial.params}
        for name, choices in self.choices.items():
            for value in choices if name in asked else ():
                if value != getattr(point, name):
                    yield name, value, self.nearest(point, **{name: value})

    def nearest(self, point: SimpleNamespace, /, **changes: Any) -> SimpleNamespace:
        """The point with these changes."""
        return SimpleNamespace(**{**vars(point), **changes})


def _others(study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
    """The trials that have been asked for something, and are not this one."""
    trials = study.get_trials(deepcopy=False)
    return [other for other in trials if other.params and other.number != trial.number]


def _beats(trial: FrozenTrial, best: FrozenTrial | None, sign: int) -> bool:
    """Whether a trial is better than the best so far; what breaks a limit never is."""
    if trial.state != TrialState.COMPLETE or not allowed(trial):
        return False
    return best is None or sign * (trial.value or 0.0) > sign * (best.value or 0.0)


def _chosen(values: Mapping[str, Any], name: str, choices: Sequence[Any]) -> Any:
    """The value that is given for a knob, or else its first choice.

    Raises:
        ValueError: It is none of its choices.
    """
    value = values.get(name, choices[0])
    if value not in choices:
        raise ValueError(f"{name} is to be {value!r}; its choices are {tuple(choices)}, give one")
    return value


def _in_range(value: Any, name: str, knob: BaseDistribution) -> Any:
    """The value that is given for a number.

    Raises:
        ValueError: Its range does not have it: Optuna would draw another one without a word.
    """
    if isinstance(knob, IntDistribution | FloatDistribution):
        n_steps = (value - knob.low) / knob.step if knob.step else 0.0
        if not knob.low <= value <= knob.high or abs(n_steps - round(n_steps)) > 1e-8:
            step = f" in steps of {knob.step}" if knob.step else ""
            raise ValueError(
                f"{name} is to be {value!r}; its range is {knob.low} to {knob.high}{step}, give "
                "one in it"
            )
    return value
