"""Course: how a study goes after the probe, stage by stage, within its budget.

    baseline and expert -> noise -> diagnosis -> search -> ablate -> numerics -> confirm

Where the bank has settings for this very workload and machine, they are proven again after the
baseline, and all the rest follows unless that succeeds. Where the budget is so short that nothing
could be searched, all that is left of it goes to one comparison, the baseline with the expert or
with the bank's settings.

tune.py takes it on a real machine, and a replayed study on a recorded table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hotlap.measurement import Measurement
from hotlap.settings import Settings
from studies.ablate import Ablation
from studies.again import ARM, SEARCHED, Again, TooLong, still_refused
from studies.anchor import EVERY_SHARE, EVERY_TRIALS, Anchor
from studies.arm import Arm
from studies.budget import Budget
from studies.changes import differing
from studies.confirm import Confirmed
from studies.descent import Descent
from studies.diagnosis import DIAGNOSIS_SHARE, Diagnosis, diagnose
from studies.endurance import measured
from studies.enough import too_short
from studies.entry import Entry
from studies.found import Found
from studies.lab import Lab
from studies.noise import Noise, Repeat
from studies.numerics import MakeGate
from studies.plan import Plan
from studies.protocols import Observer, Space, Trial
from studies.prover import LIKELIEST, PROVE, Prover
from studies.reuse import Known
from studies.rounds import Exceeded
from studies.search import Search

REPEATS = 2
"""So often the baseline is measured again before the search, or not at all if that does not fit
into its share: the difference of two runs alone tells next to nothing of a spread."""

NOISE_SHARE = 0.08

UNDIAGNOSED = "which side binds the winner is not known: no time was left to measure each alone"


class Course:
    """One study's course.

    Args:
        lab: Measures settings.
        search: The search stage.
        space: The active search space.
        budget: The command's wall clock.
        plan: What the user says about it.
        observer: Who wants to see it.
        exceeded: A sentence for each limit that a measurement exceeds.
        make_gate: Makes what tells whether settings still learn the same, from a run of the
            baseline and the seconds that it may take; None where nothing can be trained.
    """

    def __init__(
        self,
        lab: Lab,
        search: Search,
        space: Space,
        budget: Budget,
        plan: Plan,
        observer: Observer,
        exceeded: Exceeded = lambda measurement: (),
        make_gate: MakeGate | None = None,
    ) -> None:
        self._lab = lab
        self._search = search
        self._space = space
        self._budget = budget
        self._plan = plan
        self._observer = observer
        self._exceeded = exceeded
        self._prover = Prover(lab, search, budget, plan, observer, exceeded, make_gate)
        self._bank = Again(lab, self._prover, budget, plan, observer, exceeded)
        self._last: Trial | None = None  # of the baseline
        self._would_do = ""  # a budget that is long enough, where this one is not

    def run(self, base: Settings, expert: Settings, known: Known | None = None) -> Found:
        """From the baseline to what is proven.

        Args:
            base: The baseline.
            expert: What an engineer would set by hand.
            known: What the bank knows; a sampler that is to do what it says gets nothing of it.

        Raises:
            StudyFailed: The baseline fails.
        """
        self._lab.expect_noise(Noise(0).between_processes[0])
        self._lab.stage("baseline", "your own settings")
        first = self._search.first("baseline", base)
        known = known if known is not None and self._plan.guided else Known()
        again: Found | None = None
        too_long = ""  # to prove the bank's settings again
        if known.hit is not None:
            self._observer.note(known.sentence)
        if known.hit is not None and first is not None:  # a study that goes on has had its try
            try:
                proof, judged, proven = self._bank.prove(base, expert, first, known.hit)
                again = self._of_rounds_alone(proof, first, judged)
                again = replace(again, again=proven, hit=known.hit)
            except TooLong as why:
                too_long = str(why)
            if again is not None and again.again:
                return again
        if first is not None:
            self._warn_if_short(first.run.wall_s, expert.key() == base.key())
            if again is None and self._is_hopeless(base, expert):
                return self._compared(base, expert, first, known.hit, too_long)
        if not self._search.has_done(self._plan.n_trials):
            self._lab.stage("expert", "what an engineer would set by hand")
            self._search.first("expert", expert)
        runs = again.repeats if again else [self._repeat(first)] if first else []
        anchor = self._noise(base, runs)
        diagnoses: dict[str, Diagnosis] = {}
        # The last run of the baseline: the sides come right after it.
        if self._last is not None and (found := self._diagnose(base, self._last.run.measurement)):
            diagnoses["baseline"] = found
        descent = self._descent(base, expert, diagnoses.get("baseline"))
        guide = descent.propose if self._plan.guided else None
        self._lab.stage("search", f"{self._space.size} settings, sampler {self._plan.sampler}")
        self._tell_start(known, too_long)
        start = known.start(failed=again is not None and again.again is False)
        hits = [settings for settings in start if known.is_hit(settings)]
        near = [settings for settings in start if not known.is_hit(settings)]
        self._observer.note(self._search.run(self._plan.n_trials, hits, guide, anchor, near))
        noise = anchor.noise if anchor else Noise(0)
        ablation = self._prover.ablate(base, descent.order, noise)
        ran = first or self._last
        proof = self._prover.confirm(base, expert, ran, ablation, descent, noise)
        refused, unchecked = self._prover.refuse(proof)
        winner = proof.winner
        if proof.found_better and self._plan.diagnose:
            if found := self._diagnose(winner.settings, measured(winner)[-1]):
                diagnoses["winner"] = found
            else:
                self._observer.note(UNDIAGNOSED)
        repeats = [*(anchor.repeats if anchor else []), *self._of_rounds(proof.baseline)]
        searched, of = self._searched(proof, base, ablation)
        return Found(
            proof,
            Noise.of(repeats) if repeats else Noise(0),
            ablation,
            [*(still_refused(again, proof, refused) if again else []), *refused],
            first,
            diagnoses,
            repeats,
            searched,
            of,
            self._plan.full_run.growth(winner),
            unchecked,
            None if again is None else again.again,
            would_do=self._would_do,
            expert_searched=self._ratio(expert, base),
        )

    def _is_hopeless(self, base: Settings, expert: Settings) -> bool:
        """Whether the search's share is over before it could try anything but the expert."""
        n_more = 1 + (expert.key() != base.key())
        if self._plan.n_trials is not None:  # so many are asked for, the baseline among them
            n_more = min(n_more, max(1, self._plan.n_trials - 1))
        return self._budget.left(PROVE) <= n_more * self._lab.typical_s()

    def _compared(
        self, base: Settings, expert: Settings, first: Trial, hit: Entry | None, too_long: str
    ) -> Found:
        """One comparison: the expert's settings, or else the change that is likeliest to pay.

        Or the bank's, which are likelier than both, if there is time for rounds that prove them.
        """
        name, settings = "expert", expert
        if hit is not None and self._bank.fits(base, hit):
            name, settings = ARM, hit.settings
        elif expert.key() == base.key():
            likely = self._search.likeliest(self._descent(base, expert, None).propose)
            name, settings = LIKELIEST, likely or base
        if too_long and name != ARM:
            self._observer.note(SEARCHED[False].format(too_long))
        if settings.key() != base.key():
            self._observer.note(
                f"there is no time to search: what is left goes to one comparison, baseline and "
                f"{name}"
            )
        proof = self._prover.compare(base, name, settings, first)
        found = self._of_rounds_alone(proof, first, self._prover.refuse(proof))
        return replace(found, hit=hit if name == ARM else None, would_do=self._would_do)

    def _tell_start(self, known: Known, too_long: str) -> None:
        """What the search begins with, now that it is known whether it can begin with anything."""
        done = self._search.has_done(self._plan.n_trials)
        begins = not done and self._budget.left(PROVE) > self._lab.typical_s()
        if too_long:
            self._observer.note(SEARCHED[begins].format(too_long))
        elif known.hit is None and known.sentence and begins:
            self._observer.note(known.sentence)

    def _descent(
        self, base: Settings, expert: Settings, diagnosis: Diagnosis | None
    ) -> Descent[Settings]:
        waits = _waits(self._search.waits_of(base), diagnosis)
        return Descent(
            self._space,
            waits,
            self._search.waits_of,
            self._plan.shares_cores,
            base,
            expert,
            self._plan.own_threads,
            self._search.busy_of,
        )

    def _of_rounds_alone(
        self, proof: Confirmed, first: Trial, refused: tuple[list[tuple[str, str]], str]
    ) -> Found:
        """What was found without a search; `refused` is what the prover answered."""
        repeats = [self._repeat(first), *self._of_rounds(proof.baseline)]
        return Found(
            proof,
            Noise.of(repeats),
            refused=refused[0],
            first=first,
            repeats=repeats,
            growth=self._plan.full_run.growth(proof.winner),
            unchecked=refused[1],
        )

    def _warn_if_short(self, trial_s: float, no_expert: bool) -> None:
        """Now that it is known what a trial takes, and that no more can be tried than there is."""
        budget, plan, size = self._budget, self._plan, self._space.size
        if size < 2:
            return
        n_trials = size + no_expert  # the expert is counted, be it the baseline
        asked = (min(n_trials, plan.n_trials or n_trials), plan.max_rounds)
        if short := too_short(budget.seconds, budget.spent(), trial_s, PROVE, *asked):
            self._would_do = short.would_do
            self._observer.note(short.sentence)

    def _noise(self, base: Settings, runs: Sequence[Repeat]) -> Anchor | None:
        """A/A: the baseline again, in processes of its own, beside the `runs` that it has had."""
        repeats = list(runs)
        typical_s = self._lab.typical_s()
        n = max(0, REPEATS - len(repeats[1:]))
        if n * typical_s > NOISE_SHARE * self._budget.seconds:
            n = 0 if repeats else 1  # a study that goes on needs one to keep its scale
        if n:
            self._lab.stage("noise", "the baseline again: how much does the machine vary?")
        repeats += [repeat for _ in range(n) if (repeat := self._again(base))]
        if not repeats:
            return None
        every_s = max(EVERY_SHARE * self._budget.seconds, EVERY_TRIALS * typical_s)
        anchor = Anchor(lambda: self._again(base), repeats, every_s, self._lab.now)
        anchor.first = self._search.level(anchor.first)
        if anchor.noise.n > 1:
            self._observer.note(anchor.noise.outlook(self._prover.expected(base)))
        return anchor

    def _again(self, base: Settings) -> Repeat | None:
        """One more run of the baseline, if there is time and it ends well."""
        left_s = self._budget.left(PROVE)
        if left_s <= self._lab.typical_s():
            return None
        trial = self._lab.measure("repeat", base, left_s)
        return self._repeat(trial) if trial.run.outcome == "ok" else None

    def _repeat(self, trial: Trial) -> Repeat:
        self._last = trial
        return Repeat.of(trial)

    def _diagnose(self, settings: Settings, together: Measurement) -> Diagnosis | None:
        """Each side alone, if there is time for it."""
        most_s = min(DIAGNOSIS_SHARE * self._budget.seconds, self._budget.left()) / 2
        if not self._plan.diagnose or self._lab.typical_s() > most_s:
            return None
        self._lab.stage("diagnosis", "the loader alone, the model alone")
        found = diagnose(self._lab, settings, together, most_s, self._plan.shares_cores)
        self._observer.note(found.sentence)
        return found

    def _searched(
        self, proof: Confirmed, base: Settings, ablation: Ablation | None
    ) -> tuple[float | None, str]:
        """The search's own speedup of the best that was tried, and whose that is if another's."""
        tried, of = proof.best_tried, ""
        ratio = self._ratio(tried.settings, base)
        if not ratio and ablation is not None and _is_part(tried.settings, ablation.whole, base):
            ratio = self._ratio(ablation.whole, base)  # what is left of it was never a trial
            of = next(iter(self._search.best(1)), "")
        return (None, "") if not ratio or tried is proof.baseline else (ratio, of)

    def _ratio(self, settings: Settings, base: Settings) -> float | None:
        """How many times better than the baseline the search measured them; None if it did not."""
        value, level = self._search.value_of(settings), self._search.value_of(base)
        return (value / level) ** self._lab.sign if value and level else None

    def _of_rounds(self, baseline: Arm) -> list[Repeat]:
        """The baseline's runs in the confirm rounds, without one of before that stands for them."""
        ended = (t for t in baseline.trials.values() if t.run.outcome == "ok")
        return [self._repeat(t) for t in ended if t.kind == "confirm"]


def _waits(share: float | None, diagnosis: Diagnosis | None) -> float:
    """The share of its time that the model waits for data, 0..1; 1 if nobody knows.

    Args:
        share: What the baseline's trial says, of whichever session.
        diagnosis: What both sides alone say, which is more.
    """
    if diagnosis is not None and diagnosis.stall_share is not None:
        return diagnosis.stall_share
    return 1.0 if share is None else share


def _is_part(settings: Settings, whole: Settings, base: Settings) -> bool:
    """Whether each of their changes is one of the whole's."""
    return all(getattr(settings, n) == getattr(whole, n) for n in differing(settings, base))
