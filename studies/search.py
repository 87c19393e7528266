"""Search: Optuna proposes, trials are measured, racing stops the losers, the ledger keeps all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import optuna
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

CONSTRAINTS = "constraints"
"""User attribute of a trial: by how much it breaks each limit."""

HOPELESS = 4.0
"""A trial whose steps are so many times slower than the best one's does not get past warm-up."""

HOPELESS_BLOCKS = 2
"""So many blocks after the first step, which may compile, have to agree on that."""

LONGEST_SHARE = 0.25
"""No trial may take more than this share of the whole budget."""

REPEATS = 20
"""After so many proposals in a row that were measured before, an untried one is drawn instead."""


def constraints_of(trial: FrozenTrial) -> Sequence[float]:
    """By how much a trial breaks each limit, for a sampler; nothing for a repeat."""
    broken: Sequence[float] = trial.user_attrs.get(CONSTRAINTS, ())
    return broken


class Search:
    """The search stage of one study.

    Args:
        ledger: The study, in memory and in SQLite.
        lab: Measures settings.
        space: The active search space.
        budget: The command's wall clock.
        keep: Share of the budget that later stages need, 0..1.
    """

    def __init__(
        self,
        ledger: Ledger,
        lab: Lab,
        space: Space,
        budget: Budget,
        keep: float,
        violations: Callable[[Measurement], Sequence[float]] = lambda measurement: (),
    ) -> None:
        self._ledger = ledger
        self._study = ledger.study
        self._lab = lab
        self._space = space
        self._budget = budget
        self._keep = keep
        self._violations = violations
        self.trials: list[Trial] = []
        self._seen: dict[object, tuple[TrialState, float | None]] = {}
        for trial in ledger.trials:
            settings = Settings.from_dict(trial.user_attrs["settings"])
            self._seen[settings.key()] = (trial.state, trial.value)

    def first(self, kind: str, settings: Settings) -> Trial | None:
        """Measure known settings (baseline, expert), unless an earlier session has.

        Raises:
            StudyFailed: The baseline fails: then so would everything else.
        """
        if settings.key() in self._seen:
            return None
        trial = self._measure(kind, self._ask(settings), settings)
        if kind == "baseline" and trial.run.outcome != "ok":
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
            if t.user_attrs.get("outcome") == "ok"
            and max(t.user_attrs[CONSTRAINTS], default=0) <= 0
        ]
        sign = -1 if self._study.direction == StudyDirection.MAXIMIZE else 1
        good.sort(key=lambda t: sign * (t.value or 0.0))
        return {
            f"trial {t.user_attrs['number']}": Settings.from_dict(t.user_attrs["settings"])
            for t in good[:n]
        }

    def n_outcomes(self) -> dict[str, int]:
        """How many trials ended how, earlier sessions included."""
        ended = [t.user_attrs["outcome"] for t in self._ledger.trials if "outcome" in t.user_attrs]
        return {outcome: ended.count(outcome) for outcome in dict.fromkeys(ended)}

    def run(self, n_trials: int | None, enqueued: Iterable[Settings] = ()) -> str:
        """Search until the budget's share is spent. Returns the sentence that says why it ended.

        Args:
            n_trials: Trials of the study in all, earlier sessions included; None for no limit.
            enqueued: Settings to try first.
        """
        waiting = list(enqueued)
        while True:
            if n_trials is not None and len(self._seen) >= n_trials:
                return f"all {n_trials} trials are done"
            if self._budget.left(self._keep) <= 0:
                return "the time for searching is spent"
            if waiting:
                settings = waiting.pop(0)
                if settings.key() in self._seen:
                    continue
                asked = self._ask(settings)
            else:
                proposal = self._propose()
                if proposal is None:
                    return "every settings value of the space has been tried"
                asked, settings = proposal
            self._measure("search", asked, settings)

    def _propose(self) -> tuple[optuna.Trial, Settings] | None:
        for _ in range(REPEATS):
            asked = self._study.ask()
            settings = self._space.suggest(asked)
            known = self._seen.get(settings.key())
            if known is None:
                return asked, settings
            # Told again what is known, the sampler moves on; nothing is measured or recorded.
            state, value = known
            self._study.tell(asked, value, state)
        for settings in self._space.grid():
            if settings.key() not in self._seen:
                return self._ask(settings), settings
        return None

    def _ask(self, settings: Settings) -> optuna.Trial:
        params = self._space.params_of(settings)
        if self._space.suggest(FixedTrial(params)) == settings:
            self._study.enqueue_trial(params)
            asked = self._study.ask()
            self._space.suggest(asked)
            return asked
        return self._study.ask()  # lies outside the space: a trial without parameters

    def _measure(self, kind: str, asked: optuna.Trial, settings: Settings) -> Trial:
        limit = self._budget.seconds * LONGEST_SHARE if kind == "search" else float("inf")
        timeout_s = min(limit, max(self._budget.left(self._keep), 1.0))
        if kind == "baseline":
            timeout_s = self._budget.left()
        stop = self._stop if kind == "search" else (lambda warmup, window: False)
        trial = self._lab.measure(kind, settings, timeout_s, stop)
        for step, block in enumerate(trial.run.measurement.blocks):
            asked.report(block.samples / block.seconds, step)
        attributes = {
            "number": trial.number,
            "kind": kind,
            "outcome": trial.run.outcome,
            "reason": trial.run.reason,
            "settings": settings.to_dict(),
            "wall_s": trial.run.wall_s,
            CONSTRAINTS: list(self._violations(trial.run.measurement)),
        }
        for key, value in attributes.items():
            asked.set_user_attr(key, value)
        state, told_value = told(trial.run, trial.value)
        self._study.tell(asked, told_value, state)
        self._seen[settings.key()] = (state, told_value)
        self._ledger.record(asked.number)
        self.trials.append(trial)
        return trial

    def _stop(self, warmup: list[float], window: list[float]) -> bool:
        if not window:
            best = max((t.value or 0.0 for t in self._ledger.trials if t.value), default=0.0)
            late = warmup[1:]
            return len(late) >= HOPELESS_BLOCKS and max(late) * HOPELESS < best
        so_far = create_trial(state=TrialState.RUNNING, intermediate_values=dict(enumerate(window)))
        return self._study.pruner.prune(self._study, so_far)
