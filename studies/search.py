"""Search: Optuna proposes, trials are measured, racing stops the losers, the ledger keeps all."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import optuna
from optuna.samplers import RandomSampler
from optuna.study import StudyDirection
from optuna.trial import FixedTrial, FrozenTrial, TrialState, create_trial

from hotlap.errors import StudyFailed
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from studies.budget import Budget
from studies.lab import Lab
from studies.ledger import Ledger
from studies.outcomes import told
from studies.protocols import Space, Trial
from studies.samplers import CONSTRAINTS, constrain

HOPELESS = 4.0
"""A trial whose steps are so many times slower than the best one's does not get past warm-up."""

HOPELESS_BLOCKS = 2
"""So many blocks after the first step, which may compile, have to agree on that."""

LONGEST_SHARE = 0.25
"""No trial may take more than this share of the whole budget."""

DRAWS = 100
"""So many neighbours of a repeated proposal are drawn; then the grid is walked for what is left."""


class Told(NamedTuple):
    """What Optuna was told of a trial."""

    state: TrialState
    value: float | None
    violations: list[float]


class Search:
    """The search stage of one study.

    Args:
        ledger: The study, in memory and in SQLite.
        lab: Measures settings.
        space: The active search space.
        budget: The command's wall clock.
        keep: Share of the budget that later stages need, 0..1.
        violations: By how much a measurement breaks each limit; 0 or less is fine.
        refuse: Why settings are known to fail before they are tried, such as for want of shared
            memory; empty if they are not.
    """

    def __init__(
        self,
        ledger: Ledger,
        lab: Lab,
        space: Space,
        budget: Budget,
        keep: float,
        violations: Callable[[Measurement], Sequence[float]] = lambda measurement: (),
        refuse: Callable[[Settings], str] = lambda settings: "",
    ) -> None:
        self._ledger = ledger
        self._study = ledger.study
        self._lab = lab
        self._space = space
        self._budget = budget
        self._keep = keep
        self._violations = violations
        self._refuse = refuse
        self._random = random.Random(len(ledger.trials))
        self._chance = optuna.create_study(sampler=RandomSampler(seed=len(ledger.trials)))
        self._seen: dict[object, Told] = {}
        for trial in ledger.trials:
            self._remember(trial)

    def first(self, kind: str, settings: Settings) -> Trial | None:
        """Measure known settings (baseline, expert), unless they have been.

        Returns:
            None if an earlier trial had the same settings, or if no time is left.

        Raises:
            StudyFailed: The baseline fails: then so would everything else.
        """
        known = self._seen.get(settings.key())
        if kind != "baseline":
            if known is not None or self._budget.left(self._keep) <= self._lab.typical_s:
                return None
            return self._measure(kind, settings, self._ask(settings))
        if known is not None and known.state == TrialState.COMPLETE:
            return None
        trial = self._measure(kind, settings, self._ask(settings))
        if trial.run.outcome != "ok":
            raise StudyFailed(
                f"{trial.run.traceback.strip()}\n\n"
                f"The baseline, with your own settings, ended as {trial.run.outcome}: "
                f"{trial.run.reason}. The worker's log: {trial.run.folder}/worker.log"
            )
        return trial

    def best(self, n: int) -> dict[str, Settings]:
        """The `n` best trials that ended ok within the limits, best first: name -> settings."""
        good = [
            t
            for t in self._ledger.trials
            if t.user_attrs["outcome"] == "ok" and max(t.user_attrs[CONSTRAINTS], default=0) <= 0
        ]
        sign = -1 if self._study.direction == StudyDirection.MAXIMIZE else 1
        good.sort(key=lambda t: sign * (t.value or 0.0))
        return {
            f"trial {t.user_attrs['number']}": Settings.from_dict(t.user_attrs["settings"])
            for t in good[:n]
        }

    def n_outcomes(self) -> dict[str, int]:
        """How many trials ended how, earlier sessions included."""
        ended = [t.user_attrs["outcome"] for t in self._ledger.trials]
        return {outcome: ended.count(outcome) for outcome in dict.fromkeys(ended)}

    def run(
        self,
        n_trials: int | None,
        enqueued: Iterable[Settings] = (),
        guide: Callable[[Settings], Settings | None] | None = None,
    ) -> str:
        """Search until the budget's share is spent. Returns the sentence that says why it ended.

        Args:
            n_trials: Trials of the study in all, earlier sessions included; None for no limit.
            enqueued: Settings to try first.
            guide: Proposes, from the best settings so far, what to try before the sampler is
                asked; None when it has nothing more (see studies/descent.py).
        """
        waiting = [settings for settings in enqueued if settings.key() not in self._seen]
        while True:
            if n_trials is not None and len(self._seen) >= n_trials:
                return f"all {n_trials} trials are done"
            # A trial that cannot end in time tells nothing; confirm makes more of that time.
            if self._budget.left(self._keep) <= self._lab.typical_s:
                return "the time for searching is spent"
            if waiting:
                settings = waiting.pop(0)
                asked = self._ask(settings)
            elif guide is not None and (guided := self._guided(guide)) is not None:
                settings, asked = guided, self._ask(guided)
            else:
                proposal = self._propose()
                if proposal is None:
                    return "every settings value of the space has been tried"
                settings, asked = proposal
            if reason := self._refuse(settings):
                self._tell(self._lab.refuse("search", settings, reason), asked)
            else:
                self._measure("search", settings, asked)

    def _guided(self, guide: Callable[[Settings], Settings | None]) -> Settings | None:
        """The guide's next untried proposal."""
        for incumbent in self.best(1).values():
            while (settings := guide(incumbent)) is not None:
                if settings.key() not in self._seen:
                    return settings
        return None

    def _propose(self) -> tuple[Settings, optuna.Trial | None] | None:
        asked = self._study.ask()
        settings = self._space.suggest(asked)
        known = self._seen.get(settings.key())
        if known is None:
            return settings, asked
        # A repeat says where the sampler believes the best to be. It is told again what is known,
        # nothing is measured or recorded, and something untried close by is taken instead.
        # Asking on would cost a Gaussian process seconds for each repeat.
        constrain(asked, known.violations)
        self._study.tell(asked, known.value, known.state)
        untried = self._untried(asked.params)
        return None if untried is None else (untried, self._ask(untried))

    def _untried(self, params: Mapping[str, Any]) -> Settings | None:
        """Untried settings that differ from `params` in as few knobs as is soon found."""
        names = list(params)
        for draw in range(DRAWS):
            dropped = self._random.sample(names, min(len(names), 1 + draw * len(names) // DRAWS))
            kept = {name: value for name, value in params.items() if name not in dropped}
            self._chance.enqueue_trial(kept)  # the other knobs are drawn
            settings = self._space.suggest(self._chance.ask())
            if settings.key() not in self._seen:
                return settings
        return next((s for s in self._space.grid() if s.key() not in self._seen), None)

    def _ask(self, settings: Settings) -> optuna.Trial | None:
        """Optuna's trial for known settings; None if they lie outside of the space."""
        params = self._space.params_of(settings)
        if not params or self._space.suggest(FixedTrial(params)).key() != settings.key():
            return None
        self._study.enqueue_trial(params)
        asked = self._study.ask()
        self._space.suggest(asked)
        return asked

    def _measure(self, kind: str, settings: Settings, asked: optuna.Trial | None) -> Trial:
        most, left = self._budget.seconds * LONGEST_SHARE, self._budget.left(self._keep)
        if kind == "baseline":  # without it there is no study
            most = left = self._budget.left()
        stop = self._stop if kind == "search" else (lambda warmup, window: False)
        trial = self._lab.measure(kind, settings, min(most, left), stop)
        # Cut off by the end of the search: of these settings themselves it tells nothing.
        self._tell(trial, asked, unfinished=trial.ran_out and left < most)
        return trial

    def _tell(self, trial: Trial, asked: optuna.Trial | None, unfinished: bool = False) -> None:
        state, value = (TrialState.FAIL, None) if unfinished else told(trial.run, trial.value)
        violations = [float(v) for v in self._violations(trial.run.measurement)]
        attributes = {
            "number": trial.number,
            "kind": trial.kind,
            "outcome": trial.run.outcome,
            "reason": trial.run.reason,
            "settings": trial.settings.to_dict(),
            "wall_s": trial.run.wall_s,
            CONSTRAINTS: violations,
        }
        # Of a trial that failed, blocks are no rate that could be compared.
        rates = _rates(trial) if state == TrialState.COMPLETE else []
        ended = self._ended(asked, state, value, rates, attributes)
        self._ledger.record(ended)
        self._remember(ended)

    def _ended(
        self,
        asked: optuna.Trial | None,
        state: TrialState,
        value: float | None,
        rates: Sequence[float],
        attributes: dict[str, Any],
    ) -> FrozenTrial:
        if asked is None:
            return create_trial(
                state=state,
                value=value,
                user_attrs=attributes,
                intermediate_values=dict(enumerate(rates)),
            )
        for step, rate in enumerate(rates):
            asked.report(rate, step)
        for key, attribute in attributes.items():
            asked.set_user_attr(key, attribute)
        constrain(asked, attributes[CONSTRAINTS])
        return self._study.tell(asked, value, state)

    def _remember(self, trial: FrozenTrial) -> None:
        if trial.state == TrialState.FAIL:
            return  # unfinished: it may be tried again
        settings = Settings.from_dict(trial.user_attrs["settings"])
        violations = trial.user_attrs[CONSTRAINTS]
        self._seen[settings.key()] = Told(trial.state, trial.value, violations)

    def _stop(self, warmup: list[float], window: list[float]) -> bool:
        if window:
            return self._ledger.has_lost(window)
        late = warmup[1:]
        return len(late) >= HOPELESS_BLOCKS and max(late) * HOPELESS < self._best_rate()

    def _best_rate(self) -> float:
        """The best trial's mean rate over its blocks, whatever the objective makes of them."""
        rates = [list(t.intermediate_values.values()) for t in self._ledger.trials]
        return max((sum(r) / len(r) for r in rates if r), default=0.0)


def _rates(trial: Trial) -> list[float]:
    """Samples per second of each block of the window."""
    return [block.samples / block.seconds for block in trial.run.measurement.blocks]
