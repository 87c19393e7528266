"""Search: Optuna proposes, trials are measured, racing stops the losers, the ledger keeps all."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from hotlap.errors import StudyFailed
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from studies.anchor import Anchor
from studies.budget import Budget
from studies.compiled import compiled
from studies.enough import LEAST_S, no_baseline
from studies.lab import Lab
from studies.ledger import Ledger
from studies.lost import Lost
from studies.noise import Noise
from studies.outcomes import told
from studies.pace import Pace
from studies.proposals import Proposals
from studies.protocols import Space, Trial
from studies.samplers import CONSTRAINTS, OVER, allowed

UNFINISHED = "unfinished"
"""How a trial counts that was cut off, or whose server failed: it tells nothing of its settings."""

SPENT = "the time for searching is spent"

ALL_TRIED = "every settings value of the space has been tried"
ALL_KNOWN_TRIED = "every settings value that the table has was tried"

ARMS_ANYWAY = ("baseline", "expert")
"""Kinds of trials whose settings take part in the proof however they did in the search."""


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
        proven: What an earlier session of the study has proven to be faster: it takes part again.
        allow: Gets the violations of the baseline, which no winner has to undercut.
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
        proven: Settings | None = None,
        allow: Callable[[Sequence[float]], None] = lambda violations: None,
    ) -> None:
        self._ledger = ledger
        self._study = ledger.study
        self._lab = lab
        self._space = space
        self._budget = budget
        self._keep = keep
        self._violations = violations
        self._refuse = refuse
        self._proven = proven
        self._allow = allow
        self._proposals = Proposals(ledger.study, space, len(ledger.trials))
        self._lost = Lost(ledger, lab.sign)
        self._pace = Pace(lab)
        self._levels: dict[float, float] = {}  # the baseline's scaled values by their time
        for trial in ledger.trials:
            self._pace.remember(trial)
            lab.compiled.learn(*compiled(trial))
            if trial.user_attrs["kind"] == "baseline" and trial.value is not None:
                self._levels[-1.0] = trial.value  # before this session
                allow(trial.user_attrs.get(OVER, trial.user_attrs[CONSTRAINTS]))
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
            if known is not None or not self._fits(settings):
                return None
            return self._measure(kind, settings, self._proposals.ask(settings))
        self._pace.begin_at(settings)
        if known is not None and known.state == TrialState.COMPLETE:
            return None
        spent_s, left_s = self._budget.spent(), self._budget.left()
        too_late = no_baseline(self._budget.seconds, spent_s, left_s, self._keep)
        if left_s < LEAST_S:
            raise StudyFailed(too_late)
        trial = self._measure(kind, settings, self._proposals.ask(settings))
        if trial.ran_out:
            raise StudyFailed(too_late)
        if trial.run.outcome == "oom":
            raise StudyFailed(self._lab.out_of_memory(trial.run))
        if trial.run.outcome != "ok":
            raise StudyFailed(
                f"{trial.run.traceback.strip()}\n\n"
                f"The baseline, with your own settings, ended as {trial.run.outcome}: "
                f"{trial.run.reason}. The worker's log: {trial.run.folder}/worker.log"
            )
        return trial

    def best(self, n: int) -> dict[str, Settings]:
        """The trials that ended ok within the limits, best first: name -> settings.

        They end with the `n`-th that is neither the baseline nor the expert. What an earlier
        session has proven is one of them at the least.
        """
        good = [t for t in self._ledger.trials if t.user_attrs["outcome"] == "ok" and allowed(t)]
        sign = -1 if self._study.direction == StudyDirection.MAXIMIZE else 1
        good.sort(key=lambda t: sign * self._value(t))
        proven = None if self._proven is None else self._proven.key()
        found: dict[str, Settings] = {}
        for trial in good:
            settings = Settings.from_dict(trial.user_attrs["settings"])
            if n > 0 or settings.key() == proven:
                found[f"trial {trial.user_attrs['number']}"] = settings
            n -= trial.user_attrs["kind"] not in ARMS_ANYWAY
            if n <= 0 and proven is None:
                break
        return found

    def measured(self) -> list[tuple[Settings, float]]:
        """All that was measured within the limits, stopped trials too, each with its value."""
        told = (t for t in self._ledger.trials if t.value is not None and allowed(t))
        return [(Settings.from_dict(t.user_attrs["settings"]), self._value(t)) for t in told]

    def value_of(self, settings: Settings) -> float | None:
        """The search's own value of these settings, None if they were not measured."""
        known = (t for t in self._ledger.of(settings) if t.value is not None)
        return next(map(self._value, known), None)

    def waits_of(self, settings: Settings) -> float | None:
        """The share of its time (0..1) that these settings' trial waited for data, if tried."""
        share = self._ledger.noted("data_wait_share", settings)
        return None if share is None else float(share)

    def busy_of(self, settings: Settings) -> float | None:
        """The share of its time (0..1) that the device computed in that trial, if NVML told it."""
        share = self._ledger.noted("gpu_utilization_share", settings)
        return None if share is None else float(share)

    def ran_out(self, settings: Settings) -> bool:
        """Whether the last trial of these settings, any session's, was over before it had ended."""
        outside = self._ledger.noted("outside", settings)  # its server failed, and not itself
        return not outside and self._ledger.noted("outcome", settings) == "timeout"

    def likeliest(self, guide: Callable[[Settings], Settings | None]) -> Settings | None:
        """What the guide would try first beside the baseline and can be tried; None if nothing."""
        return self._guided(guide, lambda one: self._lab.knows(one) and not self._refuse(one))

    def rate_of(self, settings: Settings) -> float | None:
        """Samples per second of that trial, any session's; None if there was none."""
        return float(self._ledger.noted("samples_per_s", settings) or 0.0) or None

    def wall_s_of(self, settings: Settings) -> float:
        """Wall clock of the trial of these settings; 0 if there was none."""
        return float(self._ledger.noted("wall_s", settings) or 0.0)

    def startup_s_of(self, settings: Settings) -> float:
        """Seconds until that trial asked for its first batch; 0 if there was none."""
        return float(self._ledger.noted("startup_s", settings) or 0.0)

    def level(self, new: float) -> float:
        """The baseline's first level (see studies/ledger.py); `new` if there is none yet."""
        return self._ledger.first_level(new)

    def n_outcomes(self) -> dict[str, int]:
        """How many trials ended how, earlier sessions included."""
        ended = [
            UNFINISHED if t.state == TrialState.FAIL else t.user_attrs["outcome"]
            for t in self._ledger.trials
        ]
        return {outcome: ended.count(outcome) for outcome in dict.fromkeys(ended)}

    def has_done(self, n_trials: int | None) -> bool:
        """Whether the study has had so many trials, earlier sessions' included; None: never."""
        return n_trials is not None and len(self._proposals) >= n_trials

    def run(
        self,
        n_trials: int | None,
        enqueued: Iterable[Settings] = (),
        guide: Callable[[Settings], Settings | None] | None = None,
        anchor: Anchor | None = None,
        near: Sequence[Settings] = (),
    ) -> str:
        """Search until the budget's share is spent. Returns the sentence that says why it ended.

        Args:
            n_trials: Trials of the study in all, earlier sessions included; None for no limit.
            enqueued: Settings to try first.
            guide: Proposes, from the best settings so far, what to try before the sampler is
                asked; None when it has nothing more (see studies/descent.py).
            anchor: Follows the machine's drift; None takes values as they are.
            near: What was good for something similar, to try next. What is dear of it waits until
                the guide comes to what is dear, or to its end; before, the rest of it is tried
                without, unless the user left that out of the space.
        """
        waiting = [*([] if self._proven is None else [self._proven]), *enqueued]
        cheap = map(self._pace.cheap, near)
        waiting += [one for one in cheap if self._space.nearest(one).key() == one.key()]
        dear = [settings for settings in near if self._pace.cheap(settings) != settings]
        self._follow(anchor)
        due = True  # a trial has run since the baseline was measured
        while True:
            if self.has_done(n_trials):
                return f"all {n_trials} trials are done"
            if anchor is not None and due:
                anchor.before_trial()
                self._follow(anchor)
                due = False
            # A trial that cannot end in time tells nothing; confirm makes more of that time.
            if self._is_over():
                return SPENT
            if (proposal := self._next(waiting, dear, guide)) is None:
                if self._proposals.are_exhausted:
                    return ALL_TRIED if self._space.known is None else ALL_KNOWN_TRIED
                return SPENT  # for whatever is left
            settings, asked = proposal
            if reason := self._refuse(settings):
                self._tell(self._lab.refuse("search", settings, reason), asked)
                continue
            self._measure("search", settings, asked)
            due = True

    def _next(
        self,
        waiting: list[Settings],
        dear: list[Settings],
        guide: Callable[[Settings], Settings | None] | None,
    ) -> tuple[Settings, optuna.Trial | None] | None:
        """What to try next, with Optuna's trial for it; None if nothing is left that fits."""
        if (chosen := self._first_of(waiting)) is None:
            chosen = None if guide is None else self._guided(guide, self._fits)
            if chosen is None or self._pace.cheap(chosen) != chosen:
                if chosen is not None:
                    dear.append(chosen)
                chosen = self._first_of(dear)
        if chosen is not None:
            return chosen, self._proposals.ask(chosen)
        return self._proposals.next(self._fits, self._is_over)

    def _first_of(self, waiting: list[Settings]) -> Settings | None:
        """The first that is untried and fits; it leaves the list, and so do those before it."""
        while waiting:
            if self._proposals.known(one := waiting.pop(0)) is None and self._fits(one):
                return one
        return None

    def _is_over(self) -> bool:
        """Whether no usual trial ends in time any more: then nothing fits (studies/pace.py)."""
        return self._budget.left(self._keep) <= self._lab.typical_s()

    def _fits(self, settings: Settings) -> bool:
        """Whether these can be tried, and are expected to end within the time they would have."""
        if not self._lab.knows(settings):
            return False
        most_s = self._pace.most_s(settings, self._budget.left(self._keep))
        return self._pace.expected_s(settings) < most_s

    def _follow(self, anchor: Anchor | None) -> None:
        """The baseline may have been measured again: so go the scale, and what noise to expect."""
        if anchor is not None:
            self._lost.factor = anchor.factor
            for run in anchor.repeats:
                self._levels.setdefault(run.t, run.value * self._lost.factor)
        noise = Noise(0) if anchor is None else anchor.noise
        spread, degrees = noise.between_processes
        self._ledger.expect_noise(spread, degrees)
        self._lab.expect_noise(spread)

    def _value(self, trial: FrozenTrial) -> float:
        """A trial's value; of the baseline's the geometric mean over all its runs.

        A first run that was lucky by chance would else stand above what is better.
        """
        if trial.user_attrs["kind"] == "baseline" and self._levels:
            return statistics.geometric_mean(self._levels.values())
        return trial.value or 0.0

    def _guided(
        self, guide: Callable[[Settings], Settings | None], suits: Callable[[Settings], bool]
    ) -> Settings | None:
        """The guide's next proposal from the best so far that is untried and suits."""
        incumbent = next(iter(self.best(1).values()), None)
        while incumbent is not None and (settings := guide(incumbent)) is not None:
            if self._proposals.known(settings) is None and suits(settings):
                return settings
        return None

    def _measure(self, kind: str, settings: Settings, asked: optuna.Trial | None) -> Trial:
        left = self._budget.left(self._keep)
        most = self._pace.most_s(settings, left)
        if kind == "baseline":  # without it there is no study
            most = left = self._budget.left()
        stop = self._lost if kind == "search" else None
        # A server that has to be started for it takes time of the search, and none of the trial's.
        trial = self._lab.measure(kind, settings, most, stop, within_s=left)
        # Cut off by the end of the search: of these settings themselves it tells nothing.
        cut_off = trial.ran_out and (left <= most or trial.run.wall_s >= left)
        self._tell(trial, asked, unfinished=trial.run.outside or cut_off)
        return trial

    def _tell(self, trial: Trial, asked: optuna.Trial | None, unfinished: bool = False) -> None:
        value = trial.value * self._lost.factor
        state, value_told = (TrialState.FAIL, None) if unfinished else told(trial.run, value)
        over = [float(v) for v in self._violations(trial.run.measurement)]
        if trial.kind == "baseline" and state == TrialState.COMPLETE:
            self._allow(over)
        attributes = {
            "number": trial.number,
            "kind": trial.kind,
            "outcome": trial.run.outcome,
            "reason": trial.run.reason,
            "outside": trial.run.outside,
            "settings": trial.settings.to_dict(),
            "wall_s": trial.run.own_s,
            "drift_factor": self._lost.factor,
            "data_wait_share": trial.run.measurement.data_wait_share,
            "gpu_utilization_share": trial.run.measurement.gpu.get("gpu_utilization_share"),
            "startup_s": trial.run.measurement.startup_s,
            "samples_per_s": trial.run.measurement.samples_per_s,
            "compile_s": trial.run.measurement.compile_s,
            OVER: over,
            CONSTRAINTS: [float(v) for v in self._violations(trial.run.measurement)],
        }
        # Of a trial that failed, blocks are no rate that could be compared.
        values: list[float] = []
        if state == TrialState.COMPLETE:
            values = self._lost.scaled(self._lab.block_values(trial.run.measurement))
        ended = self._proposals.tell(asked, state, value_told, values, attributes)
        self._ledger.record(ended)
        self._pace.remember(ended)
