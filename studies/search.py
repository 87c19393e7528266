"""Search: Optuna proposes, trials are measured, racing stops the losers, the ledger keeps all."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from hotlap.errors import StudyFailed
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from studies.anchor import Anchor
from studies.budget import Budget
from studies.enough import LEAST_S, no_baseline
from studies.lab import Lab
from studies.ledger import Ledger
from studies.noise import Noise
from studies.outcomes import told
from studies.proposals import Proposals
from studies.protocols import Space, Trial
from studies.racing import rates_of
from studies.samplers import CONSTRAINTS, allowed, constrain

HOPELESS = 4.0
"""A trial whose steps are so many times slower than the best one's does not get past warm-up."""

HOPELESS_BLOCKS = 2
"""So many blocks after the first step, which may compile, have to agree on that."""

UNFINISHED = "unfinished"
"""How a trial counts that was cut off, or whose server failed: it tells nothing of its settings."""

LONGEST_SHARE = 0.25
"""No trial may take more than this share of the whole budget."""


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
        self._budget = budget
        self._keep = keep
        self._violations = violations
        self._refuse = refuse
        self._proposals = Proposals(ledger.study, space, len(ledger.trials))
        self._factor = 1.0
        for trial in ledger.trials:
            if trial.state != TrialState.FAIL:  # an unfinished one may be tried again
                self._proposals.remember(trial)
        ended = (t.user_attrs for t in ledger.trials if t.user_attrs["outcome"] == "ok")
        if walls := [float(attributes["wall_s"]) for attributes in ended]:
            lab.expect(statistics.median(walls))

    def first(self, kind: str, settings: Settings) -> Trial | None:
        """Measure known settings (baseline, expert), unless they have been.

        Returns:
            None if an earlier trial had the same settings, or if no time is left.

        Raises:
            StudyFailed: The baseline fails: then so would everything else.
        """
        known = self._proposals.known(settings)
        if kind != "baseline":
            if known is not None or self._budget.left(self._keep) <= self._lab.typical_s():
                return None
            return self._measure(kind, settings, self._proposals.ask(settings))
        if known is not None and known.state == TrialState.COMPLETE:
            return None
        spent_s, left_s = self._budget.spent(), self._budget.left()
        too_late = no_baseline(self._budget.seconds, spent_s, left_s, self._keep)
        if left_s < LEAST_S:
            raise StudyFailed(too_late)
        trial = self._measure(kind, settings, self._proposals.ask(settings))
        if trial.ran_out:
            raise StudyFailed(too_late)
        if trial.run.outcome != "ok":
            raise StudyFailed(
                f"{trial.run.traceback.strip()}\n\n"
                f"The baseline, with your own settings, ended as {trial.run.outcome}: "
                f"{trial.run.reason}. The worker's log: {trial.run.folder}/worker.log"
            )
        return trial

    def best(self, n: int) -> dict[str, Settings]:
        """The `n` best trials that ended ok within the limits, best first: name -> settings."""
        good = [t for t in self._ledger.trials if t.user_attrs["outcome"] == "ok" and allowed(t)]
        sign = -1 if self._study.direction == StudyDirection.MAXIMIZE else 1
        good.sort(key=lambda t: sign * (t.value or 0.0))
        return {
            f"trial {t.user_attrs['number']}": Settings.from_dict(t.user_attrs["settings"])
            for t in good[:n]
        }

    def value_of(self, settings: Settings) -> float | None:
        """The search's own value of these settings, None if they were not measured."""
        known = self._proposals.known(settings)
        return None if known is None else known.value

    def waits_of(self, settings: Settings) -> float | None:
        """The share of its time (0..1) that these settings' trial waited for data, if tried."""
        return self._noted("data_wait_share", settings)

    def ran_out(self, settings: Settings) -> bool:
        """Whether the last trial of these settings, any session's, was over before it had ended."""
        outside = self._ledger.noted("outside", settings)  # its server failed, and not itself
        return not outside and self._ledger.noted("outcome", settings) == "timeout"

    def likeliest(self, guide: Callable[[Settings], Settings | None]) -> Settings | None:
        """What the guide would try first beside the baseline and can be tried; None if nothing."""
        for base in self.best(1).values():
            while (settings := guide(base)) is not None:
                if self._proposals.known(settings) is None and not self._refuse(settings):
                    return settings
        return None

    def rate_of(self, settings: Settings) -> float | None:
        """Samples per second of that trial, any session's; None if there was none."""
        return self._noted("samples_per_s", settings) or None

    def wall_s_of(self, settings: Settings) -> float:
        """Wall clock of the trial of these settings; 0 if there was none."""
        return self._noted("wall_s", settings) or 0.0

    def startup_s_of(self, settings: Settings) -> float:
        """Seconds until that trial asked for its first batch; 0 if there was none."""
        return self._noted("startup_s", settings) or 0.0

    def level(self, new: float) -> float:
        """The baseline's first level, logarithm of its value; `new` if this is the first session.

        Values of all sessions are scaled to it (see studies/anchor.py).
        """
        return self._ledger.first_level(new)

    def n_outcomes(self) -> dict[str, int]:
        """How many trials ended how, earlier sessions included."""
        ended = [
            UNFINISHED if t.state == TrialState.FAIL else t.user_attrs["outcome"]
            for t in self._ledger.trials
        ]
        return {outcome: ended.count(outcome) for outcome in dict.fromkeys(ended)}

    def run(
        self,
        n_trials: int | None,
        enqueued: Iterable[Settings] = (),
        guide: Callable[[Settings], Settings | None] | None = None,
        anchor: Anchor | None = None,
    ) -> str:
        """Search until the budget's share is spent. Returns the sentence that says why it ended.

        Args:
            n_trials: Trials of the study in all, earlier sessions included; None for no limit.
            enqueued: Settings to try first.
            guide: Proposes, from the best settings so far, what to try before the sampler is
                asked; None when it has nothing more (see studies/descent.py).
            anchor: Follows the machine's drift; None takes values as they are.
        """
        waiting = [settings for settings in enqueued if self._proposals.known(settings) is None]
        if anchor is None:
            self._expect(Noise(0))
        due = True  # a trial has run since the baseline was measured
        while True:
            if n_trials is not None and len(self._proposals) >= n_trials:
                return f"all {n_trials} trials are done"
            if anchor is not None and due:
                anchor.before_trial()
                self._factor = anchor.factor
                self._expect(anchor.noise)
                due = False
            # A trial that cannot end in time tells nothing; confirm makes more of that time.
            if self._budget.left(self._keep) <= self._lab.typical_s():
                return "the time for searching is spent"
            if waiting:
                settings = waiting.pop(0)
                asked = self._proposals.ask(settings)
            elif guide is not None and (guided := self._guided(guide)) is not None:
                settings, asked = guided, self._proposals.ask(guided)
            else:
                proposal = self._proposals.next()
                if proposal is None:
                    return "every settings value of the space has been tried"
                settings, asked = proposal
            if reason := self._refuse(settings):
                self._tell(self._lab.refuse("search", settings, reason), asked)
                continue
            self._measure("search", settings, asked)
            due = True

    def _expect(self, noise: Noise) -> None:
        """Racing, and how precise windows have to be, go by how much processes differ."""
        spread, degrees = noise.between_processes
        self._ledger.expect_noise(spread, degrees)
        self._lab.expect_noise(spread)

    def _guided(self, guide: Callable[[Settings], Settings | None]) -> Settings | None:
        """The guide's next untried proposal."""
        for incumbent in self.best(1).values():
            while (settings := guide(incumbent)) is not None:
                if self._proposals.known(settings) is None:
                    return settings
        return None

    def _measure(self, kind: str, settings: Settings, asked: optuna.Trial | None) -> Trial:
        most, left = self._budget.seconds * LONGEST_SHARE, self._budget.left(self._keep)
        if kind == "baseline":  # without it there is no study
            most = left = self._budget.left()
        stop = self._stop if kind == "search" else (lambda warmup, window: False)
        # A server that has to be started for it takes time of the search, and none of the trial's.
        trial = self._lab.measure(kind, settings, min(most, left), stop, within_s=left)
        # Cut off by the end of the search: of these settings themselves it tells nothing.
        cut_off = trial.ran_out and (left < most or trial.run.wall_s >= left)
        self._tell(trial, asked, unfinished=trial.run.outside or cut_off)
        return trial

    def _tell(self, trial: Trial, asked: optuna.Trial | None, unfinished: bool = False) -> None:
        value = trial.value * self._factor
        state, value_told = (TrialState.FAIL, None) if unfinished else told(trial.run, value)
        violations = [float(v) for v in self._violations(trial.run.measurement)]
        attributes = {
            "number": trial.number,
            "kind": trial.kind,
            "outcome": trial.run.outcome,
            "reason": trial.run.reason,
            "outside": trial.run.outside,
            "settings": trial.settings.to_dict(),
            "wall_s": trial.run.own_s,
            "drift_factor": self._factor,
            "data_wait_share": trial.run.measurement.data_wait_share,
            "startup_s": trial.run.measurement.startup_s,
            "samples_per_s": trial.run.measurement.samples_per_s,
            CONSTRAINTS: violations,
        }
        # Of a trial that failed, blocks are no rate that could be compared.
        values: list[float] = []
        if state == TrialState.COMPLETE:
            values = self._scaled(self._lab.block_values(trial.run.measurement))
        ended = self._ended(asked, state, value_told, values, attributes)
        self._ledger.record(ended)
        self._proposals.remember(ended)

    def _ended(
        self,
        asked: optuna.Trial | None,
        state: TrialState,
        value: float | None,
        values: Sequence[float],
        attributes: dict[str, Any],
    ) -> FrozenTrial:
        if asked is None:
            return create_trial(
                state=state,
                value=value,
                user_attrs=attributes,
                intermediate_values=dict(enumerate(values)),
            )
        for step, of_block in enumerate(values):
            asked.report(of_block, step)
        for key, attribute in attributes.items():
            asked.set_user_attr(key, attribute)
        constrain(asked, attributes[CONSTRAINTS])
        return self._study.tell(asked, value, state)

    def _noted(self, name: str, settings: Settings) -> float | None:
        noted = self._ledger.noted(name, settings)
        return None if noted is None else float(noted)

    def _stop(self, warmup: list[float], window: list[float]) -> bool:
        if window:
            return self._ledger.has_lost(self._scaled(window))
        late = self._scaled(warmup[1:])
        if len(late) < HOPELESS_BLOCKS:
            return False
        best = self._best_mean()
        if self._lab.sign > 0:
            return max(late) * HOPELESS < best
        return min(late) > best * HOPELESS

    def _best_mean(self) -> float:
        """The mean over its blocks of the best trial that breaks no limit."""
        raced = [t for t in self._ledger.trials if t.intermediate_values and allowed(t)]
        means = [statistics.fmean(rates_of(t, self._study.direction)) for t in raced]
        if self._lab.sign > 0:
            return max(means, default=0.0)
        return min(means, default=math.inf)

    def _scaled(self, values: Sequence[float]) -> list[float]:
        return [value * self._factor for value in values]
