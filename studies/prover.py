"""Prover: what comes after the search: take the best apart, see that it still learns, prove it.

ablate -> numerics -> confirm

How the time is shared out follows from what each arm's own trials take, and from what can be shown
with the gain that the search saw on a machine as noisy as this one (studies/power.py). What the
search found stands in each proof that has time for anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from hotlap.settings import Settings
from runners.protocol import Run
from studies.ablate import UNSEEN, Ablation, ablate
from studies.arm import Arm
from studies.budget import Budget
from studies.changes import differing, without
from studies.confirm import Confirmed, affordable, confirm, distinct
from studies.descent import Descent
from studies.diagnosis import DIAGNOSIS_SHARE, SIDES_TRIALS
from studies.lab import Lab
from studies.noise import LEAST_ROUNDS, Noise
from studies.numerics import MakeGate, Numerics
from studies.plan import Plan
from studies.power import Power
from studies.protocols import Observer, Trial
from studies.rounds import ENOUGH_ROUNDS, Exceeded, Rounds
from studies.search import Search
from studies.telling import telling

PROVE = 0.5
"""Share of the budget kept for all that comes after the search."""

CONFIRM = 0.3
"""Share of it kept for numerics and rounds while the best is taken apart."""

LEFT_OUT = "left out of the proof: they ran out of time in the search, and it would go to them"

LIKELIEST = "the likeliest change"
"""What the guide's next proposal is called that nobody has tried yet: a change of one knob, or one
side of the expert's settings."""


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
        self._numerics = Numerics(lab, budget, make_gate)
        self._refused: list[Arm] = []  # before the rounds

    def ablate(self, base: Settings, likely: Sequence[str], noise: Noise) -> Ablation | None:
        """Take the best settings apart, if they seem better than the baseline."""
        best = next(iter(self._search.best(1).values()), base)
        changed = differing(best, base)
        if not changed:
            return None
        self._expect([base, best])
        power = self._power(best, base, noise)
        self._lab.stage("ablate", f"what does each of the {len(changed)} changed settings bring?")
        rounds = self._rounds("ablate", lambda: self._budget.left(CONFIRM), behind_rounds=3)
        if len(changed) > 1 and not self._shows_less(rounds, base, best, power):
            ablation = Ablation(best, best, note=UNSEEN)
        else:
            told = self._telling(best, base, likely, noise)
            likely = [*told, *(name for name in likely if name not in told)]
            ablation = ablate(rounds, best, base, likely, power, len(told))
        if ablation.note:
            self._observer.note(ablation.note)
        return ablation

    def _shows_less(self, rounds: Rounds, base: Settings, best: Settings, power: Power) -> bool:
        """Whether a proof can show the best and what is left of it, if they are taken apart now."""
        left_s = self._budget.left() - rounds.left() - self.kept_s(base, [best])
        arms = [Arm("baseline", base), Arm("best", best), Arm("with less", best)]
        return len(affordable(arms, rounds, left_s, power, roomy=math.inf)) == len(arms)

    def confirm(
        self,
        base: Settings,
        expert: Settings,
        first: Trial | None,
        ablation: Ablation | None,
        descent: Descent[Settings],
        noise: Noise,
    ) -> Confirmed:
        """Prove it: only these fresh, interleaved measurements are quoted.

        An expert that ran out of time in the search takes part only if there is time for it. Where
        nothing else would, it gives way to the change that the `descent` would try first.

        Args:
            base: The baseline.
            expert: The expert's settings.
            first: A trial of the baseline, this session's; None if none ended well.
            ablation: What is left of the best.
            descent: Proposes changes, and knows which are likely to pay.
            noise: The machine's.
        """
        best = self._search.best(self._plan.n_best)
        whole = next(iter(best), "")
        arms = {"baseline": base, **{name: best[name] for name in best if name == whole}}
        if ablation and ablation.left.key() != ablation.whole.key():
            arms[f"{whole} with less"] = ablation.left
        elif ablation and not ablation.contributions:
            told = self._telling(ablation.whole, base, descent.order, noise)
            rest = [name for name in differing(ablation.whole, base) if name not in told]
            less = without(rest, ablation.whole, base)
            arms |= {f"{whole} with less": less} if self._lab.knows(less) else {}
        arms |= {"expert": expert, **best}
        self._expect(arms.values())
        rounds = replace(self._rounds("confirm", self._budget.left), noise=noise)
        if self._search.ran_out(expert) and expert.key() != base.key():
            left_s = rounds.left() - self.kept_s(base, arms.values())
            n_rounds = rounds.n_fitting(distinct(arms, self._lab.sign), left_s)
            if n_rounds < min(ENOUGH_ROUNDS, rounds.max_rounds):
                self._observer.note(f"the expert's settings are {LEFT_OUT}")
                del arms["expert"]
                alone = {settings.key() for settings in arms.values()} == {base.key()}
                if alone and (likely := self._search.likeliest(descent.propose)) is not None:
                    arms[LIKELIEST] = likely
        power = self._power(best.get(whole, base), base, noise)
        proof = self._proven(rounds, arms, first, power, self._sides_s())
        return replace(proof, dropped=ablation.dropped if ablation else frozenset())

    def _telling(
        self, best: Settings, base: Settings, likely: Sequence[str], noise: Noise
    ) -> tuple[str, ...]:
        """Those of the best one's changes for which the search's trials speak."""
        level = self._search.value_of(base)
        gains = [
            (settings, self._lab.sign * math.log(value / level))
            for settings, value in self._search.measured()
            if value and level
        ]
        return telling(best, base, gains, noise.between_processes[0], likely)

    def compare(self, base: Settings, name: str, settings: Settings, first: Trial) -> Confirmed:
        """All the time that is left for one comparison, where there is none for a search."""
        rounds = self._rounds("confirm", self._budget.left)
        return self._proven(rounds, {"baseline": base, name: settings}, first, None)

    def _proven(
        self,
        rounds: Rounds,
        arms: Mapping[str, Settings],
        first: Trial | None,
        power: Power | None,
        sides_s: float = 0.0,
    ) -> Confirmed:
        """Numerics, then the rounds of those that may be frozen.

        Where somebody takes part in them that could not be judged, they leave time for that, and
        the `sides_s` seconds for the winner's diagnosis, if that takes no arm and no needed round.
        """
        arms = self._that_learn(rounds, arms, None if first is None else first.run, power)
        kept_s = self.kept_s(arms["baseline"], arms.values())
        everyone = distinct(arms, self._lab.sign)
        left_s = rounds.left() - kept_s - sides_s
        enough = rounds.n_fitting(everyone, left_s) >= min(ENOUGH_ROUNDS, rounds.max_rounds)
        if enough and len(affordable(everyone, rounds, left_s, power)) == len(everyone):
            kept_s += sides_s
        rounds = replace(rounds, kept_s=kept_s)
        others = [name for name in arms if name != "baseline"]
        who = "the best and the baseline, interleaved"
        if not others:
            who = "the baseline alone"
        elif len(others) == 1:
            who = f"the baseline against {others[0]}, interleaved"
        self._lab.stage("confirm", who)
        proof = confirm(rounds, arms, first, power)
        return replace(proof, failed=(*proof.failed, *self._refused))

    def _that_learn(
        self,
        rounds: Rounds,
        arms: Mapping[str, Settings],
        baseline: Run | None,
        power: Power | None,
    ) -> dict[str, Settings]:
        """The arms that the rounds will have time for, without those whose numerics are refused.

        An arm costs what judging it will take beside its rounds. So those that are judged first,
        the most promising ones, may leave none for others, and never the other way round. Nobody
        is judged where the time seems too short to prove anything whose numerics would have to be
        seen, or where the rounds have to make a run of the `baseline` for them first. Where there
        is time for nobody, one arm is handed on all the same, to be looked at once.
        """

        def kept_s(some: Sequence[Arm]) -> float:
            return self.kept_s(arms["baseline"], [arm.settings for arm in some])

        able, asked = dict(arms), set()
        while True:
            everyone = distinct(able, self._lab.sign)
            taken = affordable(everyone, rounds, rounds.left(), power, kept_s=kept_s)
            n_rounds = rounds.n_fitting(taken, rounds.left() - kept_s(taken))
            too_short = n_rounds < min(LEAST_ROUNDS, rounds.max_rounds)
            arm = next((arm for arm in taken[1:] if arm.settings.key() not in asked), None)
            if arm is None or baseline is None or too_short:
                handed = taken if len(taken) > 1 else everyone[:2]
                return {arm.name: arm.settings for arm in handed}
            asked.add(arm.settings.key())
            compile_s = self._lab.compiled.expected_s(arm.settings)
            if reason := self._numerics.judge_before(arm.name, arm.settings, baseline, compile_s):
                self._refuse(arm, reason)
                self._refused.append(arm)
                able = {n: s for n, s in able.items() if s.key() != arm.settings.key()}

    def expected(self, base: Settings) -> int:
        """Paired rounds that the proof can have at the most: those of the best one alone.

        It may find more time than is kept for it, as where a small space has been tried to its end.
        """
        round_s = 2 * self._lab.typical_s()
        seconds = PROVE * self._budget.seconds - self._usual_s(base)
        return min(self._plan.max_rounds, int(seconds / round_s) if round_s else 1 << 30)

    def refuse(
        self, proof: Confirmed, left: Callable[[], float] | None = None
    ) -> tuple[list[tuple[str, str]], str]:
        """Refuse what may not be frozen; the next best takes its place.

        Args:
            proof: The confirm rounds.
            left: Seconds in which it has to be known; None: all that the budget has.

        Returns:
            Names and reasons, those of before the rounds too, and why the winner's numerics are
            not known, if they are not.
        """
        refused = [(arm.name, arm.reasons[-1]) for arm in self._refused]
        self._refused = []
        while proof.found_better:
            winner, baseline = proof.winner, proof.baseline
            unknown = ""
            reason = self._plan.full_run.outgrown(winner, baseline)
            if not reason:
                run = next(t.run for t in baseline.trials.values() if t.run.outcome == "ok")
                left_s = (left or self._budget.left)()
                reason, unknown = self._numerics.judge(winner.name, winner.settings, run, left_s)
            if not reason:
                return refused, unknown
            self._refuse(winner, reason)
            refused.append((winner.name, reason))
        return refused, ""

    def _refuse(self, arm: Arm, reason: str) -> None:
        self._observer.note(f"{arm.name} is refused: {reason}")
        arm.reasons.append(reason)

    def _power(self, best: Settings, base: Settings, noise: Noise) -> Power:
        """What the search saw of the best, and what that is worth."""
        value, level = self._search.value_of(best), self._search.value_of(base)
        seen = math.log(value / level) * self._lab.sign if value and level else 0.0
        return Power.of(seen, noise)

    def _sides_s(self) -> float:
        """Seconds that the winner's diagnosis needs; 0 where there will be none."""
        typical_s = self._lab.typical_s()
        most_s = DIAGNOSIS_SHARE * self._budget.seconds / 2
        return SIDES_TRIALS * typical_s if self._plan.diagnose and typical_s <= most_s else 0.0

    def kept_s(self, base: Settings, arms: Iterable[Settings]) -> float:
        """Seconds that it takes to judge whichever wins of those `arms` that are not judged yet.

        It compiles once more for that.
        """
        unknown = [s for s in arms if s.key() != base.key() and not self._numerics.knows(s)]
        if not unknown:
            return 0.0
        return self._usual_s(base) + max(map(self._lab.compiled.expected_s, unknown))

    def _usual_s(self, base: Settings) -> float:
        """The same for one that does not compile."""
        return self._numerics.kept_s(self._search.startup_s_of(base))

    def _expect(self, arms: Iterable[Settings]) -> None:
        """Tell the lab what an earlier session's trials of these took."""
        for settings in arms:
            if wall_s := self._search.wall_s_of(settings):
                self._lab.expect(wall_s, settings)

    def _rounds(self, kind: str, left: Callable[[], float], behind_rounds: int = 2) -> Rounds:
        return Rounds(
            self._lab,
            kind,
            left,
            self._plan.max_rounds,
            self._plan.seed,
            self._exceeded,
            behind_rounds,
        )
