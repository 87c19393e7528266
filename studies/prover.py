"""Prover: what comes after the search: take the best apart, prove it, see that it still learns.

ablate -> confirm -> numerics
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hotlap.settings import Settings
from runners.protocol import Run
from studies.ablate import FEW_ROUNDS, MAX_ROUNDS, Ablation, ablate, differing
from studies.arm import Arm
from studies.budget import Budget
from studies.confirm import Confirmed, confirm, n_affordable
from studies.gate import UNKNOWN, Gate
from studies.lab import Lab
from studies.noise import LEAST_ROUNDS
from studies.plan import Plan
from studies.protocols import Observer, Trial
from studies.rounds import ENOUGH_ROUNDS, Exceeded, Rounds
from studies.search import Search

CONFIRM = 0.3
"""Share of the budget kept for the proof: four arms in fresh processes want five rounds."""

NUMERICS = 0.07
"""Share of the budget kept for the numerics of what is proven."""

NUMERICS_RUNS, MOST_NUMERICS = 4, 0.2
"""Runs that they take as a rule, and the most that is kept for them where each starts slowly."""

LEFT_OUT = "left out of the proof: they ran out of time in the search, and it would go to them"

LIKELIEST = "the likeliest change"
"""What a change of one knob is called that nobody has tried yet."""

MakeGate = Callable[[Run, float], Gate]


class Prover:
    """Proves what the search has found. Its arguments are those of studies.Course."""

    def __init__(
        self,
        lab: Lab,
        search: Search,
        budget: Budget,
        plan: Plan,
        observer: Observer,
        exceeded: Exceeded,
        make_gate: MakeGate | None,
    ) -> None:
        self._lab = lab
        self._search = search
        self._budget = budget
        self._plan = plan
        self._observer = observer
        self._exceeded = exceeded
        self._make_gate = make_gate
        self._gate: Gate | None = None  # one for all winners: its runs of the baseline are kept

    def ablate(self, base: Settings, likely: Sequence[str]) -> Ablation | None:
        """Take the best settings apart, if they seem better than the baseline."""
        best = next(iter(self._search.best(1).values()), base)
        changed = differing(best, base)
        if not changed:
            return None
        many = f"each of the {len(changed)} changed settings"
        what = many if len(changed) > 1 else "the one changed setting"
        self._lab.stage("ablate", f"what does {what} bring?")
        # Without what makes it fast it is as slow as the baseline.
        known = (self._search.wall_s_of(best), self._search.wall_s_of(base))
        trial_s = max(self._lab.typical_s(), *known)
        max_rounds = min(MAX_ROUNDS, self._plan.max_rounds)
        rounds = self._rounds("ablate", CONFIRM, max_rounds, trial_s, FEW_ROUNDS)
        ablation = ablate(rounds, best, base, likely)
        if ablation.note:
            self._observer.note(ablation.note)
        return ablation

    def confirm(
        self,
        base: Settings,
        expert: Settings,
        first: Trial | None,
        ablation: Ablation | None,
        guide: Callable[[Settings], Settings | None],
    ) -> Confirmed:
        """Prove it: only these fresh, interleaved measurements are quoted.

        An expert that ran out of time in the search takes part only if there is time for it. Where
        nothing else would, it gives way to the change that the `guide` would try first.
        """
        self._lab.stage("confirm", "the best against the baseline, interleaved")
        best = self._search.best(self._plan.n_best)
        arms = {"baseline": base, **best, "expert": expert}
        if ablation and ablation.left.key() != ablation.whole.key():
            less = f"{next(iter(best))} with less"
            arms = {"baseline": base, less: ablation.left, **best, "expert": expert}
        typical_s = self._lab.typical_s()
        longest_s = max([typical_s, *map(self._search.wall_s_of, best.values())])
        trial_s = (typical_s + longest_s) / 2  # the baseline is one arm, they are the others
        keep = self._numerics_share(base)
        rounds = self._rounds("confirm", keep, self._plan.max_rounds, trial_s)
        if self._search.ran_out(expert) and expert.key() != base.key():
            round_s = (len(arms) - 1) * trial_s + self._search.wall_s_of(expert)
            if rounds.left() < ENOUGH_ROUNDS * round_s:
                self._observer.note(f"the expert's settings are {LEFT_OUT}")
                del arms["expert"]
                alone = {settings.key() for settings in arms.values()} == {base.key()}
                if alone and (likely := self._search.likeliest(guide)) is not None:
                    arms[LIKELIEST] = likely
        return confirm(rounds, arms, first)

    def compare(self, base: Settings, name: str, settings: Settings, first: Trial) -> Confirmed:
        """All the time that is left for one comparison, where there is none for a search."""
        self._lab.stage("confirm", f"the baseline against {name}, interleaved")
        trial_s = self._lab.typical_s()
        # Too few rounds prove nothing whose numerics would have to be seen.
        proves = self._budget.left(NUMERICS) >= 2 * LEAST_ROUNDS * trial_s
        keep = self._numerics_share(base) if proves else 0.0
        rounds = self._rounds("confirm", keep, self._plan.max_rounds, trial_s)
        return confirm(rounds, {"baseline": base, name: settings}, first)

    def expected(self, base: Settings, expert: Settings) -> tuple[int, int]:
        """Paired rounds that the proof can have at the most, and arms in them beside the baseline.

        It may find more time than is kept for it, as where a small space has been tried to its end.
        """
        trial_s = self._lab.typical_s()
        n_arms = self._plan.n_best + 1 + (expert.key() != base.key())  # the best one with less, too
        if trial_s <= 0:
            return self._plan.max_rounds, n_arms
        seconds = (CONFIRM - self._numerics_share(base)) * self._budget.seconds
        n_compared = min(n_arms, n_affordable(seconds, trial_s))
        n_rounds = int(seconds / ((1 + n_compared) * trial_s))
        return min(self._plan.max_rounds, n_rounds), n_compared

    def _numerics_share(self, base: Settings) -> float:
        """The budget's share for the numerics: a slow start is paid in each of their runs."""
        starts = NUMERICS_RUNS * self._search.startup_s_of(base) / self._budget.seconds
        return max(NUMERICS, min(MOST_NUMERICS, starts))

    def refuse(self, proof: Confirmed) -> tuple[list[tuple[str, str]], str]:
        """Refuse what may not be frozen; the next best takes its place.

        Returns:
            Names and reasons, and why the winner's numerics are not known, if they are not.
        """
        refused: list[tuple[str, str]] = []
        while proof.found_better:
            winner, baseline = proof.winner, proof.baseline
            self._lab.stage("numerics", f"does {winner.name} learn what the baseline learns?")
            reason = self._plan.full_run.outgrown(winner, baseline)
            if not reason:
                reason, unknown = self._compared(winner, baseline)
                if not reason:
                    return refused, unknown
            self._observer.note(f"{winner.name} is refused: {reason}")
            refused.append((winner.name, reason))
            winner.reasons.append(reason)
        return refused, ""

    def _compared(self, winner: Arm, baseline: Arm) -> tuple[str, str]:
        """Why the winner may not be frozen, and why that is not known; empty if neither."""
        if self._make_gate is None:
            return "", ""
        if self._gate is None:
            trial = next(t for t in baseline.trials.values() if t.run.outcome == "ok")
            self._gate = self._make_gate(trial.run, NUMERICS * self._budget.seconds)
        gate = self._gate
        reason = gate(winner.settings, self._budget.left())
        if not reason:
            self._observer.note(gate.compared)
        elif reason.startswith(UNKNOWN) and not gate.must_know(winner.settings):
            return "", reason
        return reason, ""

    def _rounds(
        self, kind: str, keep: float, max_rounds: int, trial_s: float, behind_rounds: int = 2
    ) -> Rounds:
        return Rounds(
            self._lab,
            kind,
            lambda: self._budget.left(keep),
            max_rounds,
            self._plan.seed,
            self._exceeded,
            behind_rounds,
            trial_s,
        )
