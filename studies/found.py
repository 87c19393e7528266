"""Found: what a study has found, before it is written down anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hotlap.settings import Settings
from studies.ablate import Ablation
from studies.changes import differing
from studies.confirm import Confirmed
from studies.diagnosis import Diagnosis
from studies.entry import Entry
from studies.growth import Growth
from studies.keeping import Contribution
from studies.noise import Noise, Repeat
from studies.protocols import Trial


@dataclass
class Found:
    """What a study has found.

    Attributes:
        proof: The confirm rounds.
        noise: What all runs of the baseline say about the machine.
        ablation: Which of the best settings pay; None if nothing seemed better.
        refused: What was proven faster but may not be frozen: name and reason, once for each
            settings value.
        first: The baseline's first trial in this session, None on a resumed study.
        diagnoses: Which side binds, for "baseline" and "winner" as far as there was time.
        repeats: All runs of the baseline, in the order of time.
        searched: The speedup that the search itself had measured for the winner, or for what came
            closest; None if it has not measured them.
        searched_of: Whose figure that is, "trial 7", of which these are a part; empty if their own.
        growth: What grows with the steps of the winner, or of the baseline if that is the winner.
        unchecked: Why the winner's numerics are not known, empty if they are.
        again: Whether the bank's settings have proven themselves again; None if it had none, or if
            the rounds do not tell (see studies/again.py).
        hit: The bank's entry, where nothing but its rounds was measured; the study that has stored
            it may have taken its settings apart.
        would_do: A budget that is long enough, as typed; empty if this one was.
        expert_searched: As `searched`, for the expert's settings.
    """

    proof: Confirmed
    noise: Noise
    ablation: Ablation | None = None
    refused: list[tuple[str, str]] = field(default_factory=list)
    first: Trial | None = None
    diagnoses: dict[str, Diagnosis] = field(default_factory=dict)
    repeats: list[Repeat] = field(default_factory=list)
    searched: float | None = None
    searched_of: str = ""
    growth: list[Growth] = field(default_factory=list)
    unchecked: str = ""
    again: bool | None = None
    hit: Entry | None = None
    would_do: str = ""
    expert_searched: float | None = None

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """What the winner's settings bring, as far as that was measured.

        One setting alone brings what the proof says. Where another arm has won than was taken
        apart, what the two have alike brings about the same in it, and that is said.
        """
        proof, best = self.proof, self.proof.winner
        alone = tuple(differing(best.settings, proof.baseline.settings))
        if len(alone) == 1:
            speedup = best.speedup(proof.baseline)
            return (Contribution(alone, best, proof.baseline, speedup, kept=True),)
        ablation, winner = self.ablation, best.settings.key()
        if ablation is None:
            return ()
        if winner not in (ablation.left.key(), ablation.whole.key()):
            return _alike(ablation, best.settings)
        if winner == ablation.left.key():
            return ablation.contributions
        why = "pays nothing alone; without all of these it was slower"
        return tuple(
            c if c.kept else replace(c, kept=True, reason=why) for c in ablation.contributions
        )

    @property
    def together(self) -> tuple[str, ...] | None:
        """Those of the winner's settings of which no rounds show that they pay on their own.

        Of what the winner has as the bank's hit its entry tells; None if that does not say.
        """
        proof = self.proof
        shown = {
            name
            for c in self.contributions
            if c.kept and not c.merged and (c.ratio.low > 1 or c.without.reasons)
            for name in c.settings
        }
        tuned = differing(proof.winner.settings, proof.baseline.settings)
        left = tuple(name for name in tuned if name not in shown)
        if self.hit is None or not left:
            return left
        theirs, unshown = self.hit.settings, self.hit.together
        if unshown is None:
            return None
        ours = proof.winner.settings
        return tuple(n for n in left if n in unshown or getattr(ours, n) != getattr(theirs, n))


def _alike(ablation: Ablation, settings: Settings) -> tuple[Contribution, ...]:
    """The contributions of what these settings have as those that were taken apart."""
    why = "measured among the settings of the search's best"
    return tuple(
        replace(c, kept=True, reason=why)
        for c in ablation.contributions
        if all(getattr(settings, n) == getattr(ablation.whole, n) for n in c.settings)
    )
